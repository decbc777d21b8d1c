"""The inputs of the throughput benchmark, from a fixed seed."""

import hashlib
import random
from collections.abc import Iterator

import orjson

Given = tuple[str, bytes, bytes]  # logical topic, key, value

BAD = 0.03
WINDOW = 5_000  # records are shuffled among so many neighbours: a run's signals come one after the other, and not quite
VALUES = ("pass", "pass", "pass", "pass", "fail", "error")


def records(count: int, signals_a_run: int, seed: int = 7) -> Iterator[Given]:
    """About `count` records: for each run a document, and so many signals, one of ten of which is a commit event."""
    rng = random.Random(seed)
    waiting: list[Given] = []
    for number in range(count // (signals_a_run + 1)):
        waiting += of_run(rng, number, signals_a_run)
        if len(waiting) >= WINDOW:
            rng.shuffle(waiting)
            yield from waiting[: WINDOW // 2]
            del waiting[: WINDOW // 2]
    rng.shuffle(waiting)
    yield from waiting


def of_run(rng: random.Random, number: int, signals: int) -> Iterator[Given]:
    """All that is said of a run."""
    run, sha = f"run_{number}", hashlib.sha1(str(number).encode()).hexdigest()
    rule = {"name": "tests+review", "definition": "both pass", "requires": ["tests", "review"], "window_days": 14}
    body = {"id": run, "title": "A change", "labels": {"team": "a"}, "acceptance_rule": rule}
    body |= {"ended_at": "2026-09-14T12:00:00Z"}
    artifact = {"id": "c", "path": sha, "kind": {"value": "commit"}}
    document = {"ocp": "0.3", "run": body, "nodes": [{"id": "n", "kind": "impl"}], "artifacts": [artifact]}
    yield "runs", run.encode(), orjson.dumps(document)
    for place in range(signals):
        late = place % 10 == 9
        value = orjson.dumps(signal(rng, f"s{number}_{place}", late))
        if rng.random() < BAD:
            value = rng.choice((value[:-1], value.replace(b'"tier"', b'"tear"')))
        yield ("commit-events", sha.encode(), value) if late else ("signals", run.encode(), value)


def signal(rng: random.Random, id_: str, late: bool) -> dict[str, object]:
    """An event after the run's end, or a verdict before it."""
    day, at = (
        (rng.randint(15, 27), "12:30:00Z") if late else (14, f"{rng.randint(0, 11):02}:{rng.randint(0, 59):02}:00Z")
    )
    made = {"id": id_, "kind": "event" if late else "verdict", "observed_at": f"2026-09-{day}T{at}", "tier": "verified"}
    made["name"] = rng.choice(("revert", "deployed", "deployed")) if late else rng.choice(("tests", "review", "lint"))
    made["value"] = "seen" if late else rng.choice(VALUES)
    return made | {"source": {"kind": "ci", "ref": f"https://ci.example/{id_}"}}
