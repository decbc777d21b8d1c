"""What is set aside, with which code, and how it looks. The cases themselves are `topics/*/invalid`."""

import hashlib
from typing import Any

import orjson
import pytest

from tests.core.given import (
    ENDED,
    RUN,
    SHA,
    Given,
    Letter,
    document,
    event,
    inside,
    play,
    raw,
    rule,
    run,
    score,
    verdict,
)

GOOD = inside(verdict("tests", "pass"))[0]
MEMBERS = {
    "__streams.errors.exception",
    "__streams.errors.message",
    "__streams.errors.topic",
    "__streams.errors.partition",
    "__streams.errors.offset",
    "ocp.errors.code",
    "ocp.errors.timestamp",
    "ocp.redrive.attempt",
}


def letter(*given: Given, **settings: Any) -> Letter:
    """The one dead letter that these lead to."""
    (found,) = play(*given, **settings).letters()
    return found


# each of these is broken in all that follow its code
ORDER = [
    ("too_large", None, b"\xff" * 1_001),
    ("bad_key", b"", b"\xff"),
    ("bad_commit", b"main", b"\xff"),
    ("bad_encoding", SHA.encode(), b"\xff"),
    ("bad_json", SHA.encode(), b"[" * 65),
    ("too_deep", SHA.encode(), b"[" * 65 + b"]" * 65),
    ("schema", SHA.encode(), orjson.dumps({**GOOD, "value": None, "observed_at": "?"})),
    ("E195", SHA.encode(), orjson.dumps({**GOOD, "kind": "event", "value": None, "observed_at": "?"})),
    ("bad_timestamp", SHA.encode(), orjson.dumps({**GOOD, "kind": "event", "observed_at": "2026-02-29T00:00:00Z"})),
]


@pytest.mark.parametrize(("code", "key", "value"), ORDER, ids=[code for code, _, _ in ORDER])
def test_codes_are_looked_for_in_their_order(code: str, key: bytes | None, value: bytes) -> None:
    """The first that fits is the record's."""
    assert letter(raw("commit-events", key, value), max_record_bytes=1_000).code == code


FRACTION = rule(score={"name": "q", "target": 2, "better": "higher", "scale": "fraction"})


@pytest.mark.parametrize(
    ("code", "members"),
    [
        ("schema", {"title": 5, "rule": FRACTION, "ended_at": "yesterday"}),
        ("E195", {"rule": FRACTION, "ended_at": "yesterday"}),
        ("E195", {"rule": FRACTION, "ended_at": "2026-02-29T00:00:00Z"}),
        ("bad_timestamp", {"ended_at": "yesterday"}),
        ("key_mismatch", {}),
    ],
)
def test_a_document_s_codes_are_looked_for_in_their_order(code: str, members: dict[str, Any]) -> None:
    """`key_mismatch` is the last that can be told of a document alone."""
    assert letter(raw("runs", "run_2", document(**members))).code == code


def test_a_dead_letter_is_what_was_received() -> None:
    """Key, value and headers, and the added ones after them."""
    given = Given("signals", b"run_1", b'{"id": NaN}', 1_772_370_000_125, [("trace", b"a"), ("trace", b"\xff")])
    (output,) = play(given).outputs
    assert (output.topic, output.key, output.value) == ("acceptance-dead-letters", given.key, given.value)
    assert list(output.headers[:2]) == given.headers
    headers = {name: (text or b"").decode() for name, text in output.headers[2:]}
    assert headers.keys() == MEMBERS
    assert headers.pop("__streams.errors.message").startswith("the value is not JSON")
    assert headers == {
        "__streams.errors.exception": "BadRecord",
        "__streams.errors.topic": "signals",
        "__streams.errors.partition": "0",
        "__streams.errors.offset": "0",
        "ocp.errors.code": "bad_json",
        "ocp.errors.timestamp": "1772370000125",
        "ocp.redrive.attempt": "0",
    }


def test_a_record_without_a_timestamp_says_minus_one() -> None:
    """As Kafka does."""
    assert letter(verdict("tests", "PASS")).headers["ocp.errors.timestamp"] == "-1"


def test_too_large_holds_the_length_and_the_sha_256_instead() -> None:
    """A value over `MAX_RECORD_BYTES`; one of exactly so many bytes is read."""
    value = orjson.dumps(GOOD).ljust(1_001)
    found = letter(raw("signals", RUN, value), max_record_bytes=1_000)
    assert orjson.loads(found.value or b"") == {"length": 1_001, "sha256": hashlib.sha256(value).hexdigest()}
    assert play(raw("signals", RUN, value[:-1]), max_record_bytes=1_000).codes() == []


def test_the_largest_record_is_a_mebibyte() -> None:
    """Unless it is set otherwise."""
    value = orjson.dumps(GOOD)
    assert play(raw("signals", RUN, value.ljust(1 << 20))).codes() == []
    assert play(raw("signals", RUN, value.ljust((1 << 20) + 1))).codes() == ["too_large"]


@pytest.mark.parametrize(("key", "codes"), [("k" * 200, []), ("é" * 200, []), ("😀" * 201, ["bad_key"]), (" ", [])])
def test_keys_are_1_to_200_code_points(key: str, codes: list[str]) -> None:
    """Of UTF-8; a run id is taken as it is."""
    said = play(verdict("tests", "pass", of=key))
    assert said.codes() == codes


@pytest.mark.parametrize("topic", ["runs", "signals", "commit-events"])
@pytest.mark.parametrize("key", [None, b"", b"run_\xff", b"\xed\xa0\x80"])
def test_a_bad_key_is_refused_on_every_topic(topic: str, key: bytes | None) -> None:
    """Empty, null, not UTF-8."""
    found = letter(raw(topic, key, document() if topic == "runs" else inside(event("revert"))[0]))
    assert (found.code, found.key) == ("bad_key", key)


@pytest.mark.parametrize("topic", ["signals", "commit-events"])
def test_a_signal_is_needed(topic: str) -> None:
    """No value where one is needed is `bad_json`; on `runs` it forgets."""
    found = letter(raw(topic, SHA, None))
    assert (found.code, found.value) == ("bad_json", None)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize(("levels", "codes"), [(63, []), (64, ["too_deep"]), (2_000, ["too_deep"])])
def test_64_levels_are_read(opening: str, closing: str, levels: int, codes: list[str]) -> None:
    """The outermost is 1; brackets in text are none."""
    inner = opening * levels + ("1" if opening != "[" else "") + closing * levels
    value = orjson.dumps({**GOOD, "note": "[" * 99})[:-1] + b',"ext":' + inner.encode() + b"}"
    assert play(raw("signals", RUN, value)).codes() == codes


def test_what_is_broken_is_not_json_however_deep() -> None:
    """`bad_json` comes before `too_deep`."""
    for value in (b"[" * 5_000, b"[" * 65 + b"]" * 64, b"[" * 65 + b"x" + b"]" * 65, b'{"a":' * 65 + b"}" * 65):
        assert letter(raw("signals", RUN, value)).code == "bad_json"


def test_a_member_named_twice_counts_as_the_last() -> None:
    """RFC 8259 leaves it open."""
    twice = b'{"value": "PASS",' + orjson.dumps(GOOD)[1:]
    assert play(raw("signals", RUN, twice)).codes() == []


def test_only_what_is_used_is_checked() -> None:
    """A document without `nodes`, with unknown fields, with an `ext` that is none."""
    made = document(
        ext=5, task="x", top={"nodes": "none", "edges": 1, "attempts": [{"id": "a", "node": "n", "status": 0}]}
    )
    assert play(raw("runs", RUN, made)).codes() == []


@pytest.mark.parametrize("place", range(3))
def test_a_bad_signal_in_a_good_document_is_set_aside_alone(place: int) -> None:
    """The document is applied; the letter's value is the signal's own JSON, and its path says where it stood."""
    signals = inside(verdict("tests", "pass"), score("speed", 1))
    bad = {**GOOD, "value": "PASS", "ext": {"é": [1, None]}}
    signals.insert(place, bad)
    given = run("tests", signals=signals)
    said = play(given._replace(headers=[("trace", b"1")]))
    (found,) = said.letters()
    assert said.answer() == ("accepted", [])
    assert (found.code, found.key, orjson.loads(found.value or b"")) == ("E195", b"run_1", bad)
    assert found.headers["ocp.errors.path"] == f"run.signals[{place}]"
    assert (found.headers["__streams.errors.topic"], found.headers["__streams.errors.offset"]) == ("runs", "0")
    assert found.headers["trace"] == "1"
    assert said.outputs[0].topic == "acceptance"


def test_an_embedded_signal_redrives_to_signals() -> None:
    """Put right, under the letter's key."""
    said = play(run("tests", signals=[{**GOOD, "value": "PASS"}]))
    (found,) = said.letters()
    corrected = {**orjson.loads(found.value or b""), "value": "pass"}
    assert said.then(raw("signals", found.key, corrected)).answer() == ("accepted", [])


def test_signals_that_are_no_list_spoil_the_document() -> None:
    """There is no signal to set aside."""
    assert letter(run("tests", signals={"a": GOOD})).code == "schema"


def test_how_often_it_was_redriven_is_kept() -> None:
    """One header, however often the record comes back."""
    given = verdict("tests", "PASS")._replace(headers=[("ocp.redrive.attempt", b"2"), ("a", b"b")])
    (output,) = play(given).outputs
    assert [text for name, text in output.headers if name == "ocp.redrive.attempt"] == [b"2"]


def test_offsets_go_on_over_bad_records() -> None:
    """Each names the place where it was read."""
    said = play(verdict("tests", "PASS"), verdict("tests", "pass"), raw("runs", None, None), verdict("tests", "nope"))
    found = [letter.headers for letter in said.letters()]
    assert [(h["__streams.errors.topic"], h["__streams.errors.offset"]) for h in found] == [
        ("signals", "0"),
        ("runs", "0"),
        ("signals", "2"),
    ]


def test_a_commit_event_must_be_an_event() -> None:
    """A good signal of another kind is `schema` on `commit-events`, and good on `signals`."""
    for given in (verdict("tests", "pass", ENDED), score("speed", 1, ENDED)):
        assert letter(raw("commit-events", SHA, given.value)).code == "schema"
