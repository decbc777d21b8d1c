"""The product against OCP's reference reader: equal on plain documents, and otherwise only as the contract says."""

import json
import random
from collections import Counter
from typing import Any

import pytest

from tests.differential.departures import BY_NAME, departures
from tests.differential.documents import bent, document
from tests.differential.reference import ASPECTS, NOTHING, Answer, product, records, reference

JSON = dict[str, Any]
CHUNKS = 12
PLAIN = 400  # documents in a chunk that are not bent
BENT = 200
LEAST_PLAIN = 2_500
LEAST_SEEN = 40  # of each departure
LEAST_EXPLAINED = 5


class Tally:
    """What all chunks came to; the last test looks at it."""

    def __init__(self) -> None:
        self.documents = 0
        self.plain = 0
        self.seen: Counter[str] = Counter()  # documents to which a departure applies
        self.explained: Counter[str] = Counter()  # … where the readers differ, and no other departure can be why


TALLY = Tally()


def different(one: Answer, other: Answer) -> set[str]:
    """In what two answers differ; a reader that raises differs in everything."""
    if one.raised or other.raised:
        return set(ASPECTS)
    return {aspect for aspect in ASPECTS if getattr(one, aspect) != getattr(other, aspect)}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_readers_agree_but_for_what_is_named(chunk: int) -> None:
    """What differs is what the departures that apply to the document may change; where none does, nothing differs."""
    rng = random.Random(chunk)
    made = {f"r{n}": document(rng) if n < PLAIN else bent(rng) for n in range(PLAIN + BENT)}
    said = product(line for run_id, given in made.items() for line in records(run_id, given, rng))
    for run_id, given in made.items():
        found, expected = said.get(run_id, NOTHING), reference(given)
        names = departures(given)
        allowed = {aspect for name in names for aspect in BY_NAME[name].changes}
        unexplained = different(found, expected) - allowed
        assert not unexplained, f"{unexplained}: {found} here, {expected} there, {names}: {json.dumps(given)}"
        count(names, different(found, expected))


def count(names: list[str], differs: set[str]) -> None:
    """Of one document: the departures that apply, and in what the readers differ."""
    TALLY.documents += 1
    TALLY.plain += not names
    TALLY.seen.update(names)
    for aspect in differs:
        able = [name for name in names if aspect in BY_NAME[name].changes]
        if len(able) == 1:
            TALLY.explained.update(able)


def test_every_departure_was_seen_and_most_documents_are_plain() -> None:
    """Counted over all chunks: how often each applied, and how often it alone can be why the readers differ."""
    if TALLY.documents < CHUNKS * (PLAIN + BENT):
        pytest.skip("needs all chunks")
    for name in BY_NAME:
        print(f"{name:24} {TALLY.seen[name]:5} {TALLY.explained[name]:5}")
    print(f"{'none':24} {TALLY.plain:5} of {TALLY.documents}")
    assert TALLY.documents >= 5_000
    assert TALLY.plain >= max(LEAST_PLAIN, TALLY.documents / 2)
    assert {name: TALLY.seen[name] for name in BY_NAME if TALLY.seen[name] < LEAST_SEEN} == {}
    assert {name: TALLY.explained[name] for name in BY_NAME if TALLY.explained[name] < LEAST_EXPLAINED} == {}
