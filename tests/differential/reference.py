"""The two readers side by side: what OCP's reference reader makes of a document, and what `replay` does."""

import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from loopmath.belief.design import rule_from_doc
from loopmath.belief.outcome import outcome_evidence

from processor.replay import replay

JSON = dict[str, Any]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
STATUS = {1.0: "accepted", 0.0: "rejected", None: "unknown"}


class Answer(NamedTuple):
    """What both readers say; `raised` is the reference's alone."""

    status: str
    reasons: tuple[str, ...]
    tier: str | None
    raised: str | None = None


ASPECTS = ("status", "reasons", "tier")
NOTHING = Answer("unknown", ("no_run",), None)


def reference(document: JSON) -> Answer:
    """The reference reader's answer, or what it raised."""
    try:
        found = outcome_evidence(document, rule_from_doc(document), now=NOW)
    except (OverflowError, ValueError) as error:
        return Answer("", (), None, type(error).__name__)
    return Answer(STATUS[found.z], found.reasons, found.tier)


def records(run_id: str, document: JSON, rng: random.Random) -> Iterator[JSON]:
    """The document with all its signals inside, with none, or with some; the others come before or after it."""
    signals = document["run"].get("signals") or []
    inside = rng.choice((len(signals), 0, rng.randint(0, len(signals))))
    sent = [{"topic": "signals", "key": run_id, "value": signal} for signal in signals[inside:]]
    before = rng.choice((0, 0, rng.randint(0, len(sent))))
    run = {**document["run"], "id": run_id}
    if "signals" in run:
        run["signals"] = signals[:inside]
    yield from sent[:before]
    yield {"topic": "runs", "key": run_id, "value": {**document, "run": run}}
    yield from sent[before:]


def product(lines: Iterable[JSON]) -> dict[str, Answer]:
    """What the product says last of each run."""
    found: dict[str, Answer] = {}
    for line in replay(json.dumps(line).encode() for line in lines):
        output = json.loads(line)
        if output["topic"] == "acceptance":
            value = output["value"]
            found[output["key"]] = Answer(value["status"], tuple(value["reasons"]), value["tier"])
    return found


def product_of(document: JSON) -> Answer:
    """What the product says of one document with all its signals inside."""
    lines = [{"topic": "runs", "key": "run_1", "value": {**document, "run": {**document["run"], "id": "run_1"}}}]
    return product(lines).get("run_1", NOTHING)
