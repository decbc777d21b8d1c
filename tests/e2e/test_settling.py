"""Windows close on a real broker: once, never early, whoever owns the partition."""

import signal
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from processor.record import ACCEPTANCE, CHANGED, COMMIT_EVENTS, REVERSED, RUNS, SIGNALS
from tests.e2e.world import World, value

RULE = {"name": "r", "definition": "d", "requires": ["tests"], "window_days": 0}
AT_ONCE = {"SETTLE_GRACE_SECONDS": "0"}
SHA = "4f2a9c1be07d4f2a9c1be07d4f2a9c1be07d4f2a"


def in_(seconds: float) -> str:
    """So many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def recorded(run: str, ended: str, *shas: str) -> tuple[str, bytes, bytes]:
    """A document whose window closes when its run ends."""
    artifacts = [{"id": "c", "path": sha, "kind": {"value": "commit"}} for sha in shas]
    body = {"id": run, "ended_at": ended, "acceptance_rule": RULE}
    return RUNS, run.encode(), orjson.dumps({"ocp": "0.3", "run": body, "artifacts": artifacts})


def judged(id_: str, kind: str, name: str, given: str, at: str) -> bytes:
    """A signal."""
    return orjson.dumps({"id": id_, "kind": kind, "name": name, "value": given, "observed_at": at, "tier": "verified"})


def passed(run: str, at: str) -> tuple[str, bytes, bytes]:
    """Its tests passed."""
    return SIGNALS, run.encode(), judged("s", "verdict", "tests", "pass", at)


def transitions(world: World, run: str) -> list[str]:
    """What was announced of a run."""
    return [value(m)["transition"] for m in world.read(CHANGED) if m.key() == run.encode()]


def test_a_window_of_seconds_closes(here: World) -> None:
    """Accepted at once, settled when the window has closed, and never before."""
    here.create()
    worker = here.worker(**AT_ONCE)
    ended = in_(6)
    here.produce([recorded("run_1", ended), passed("run_1", in_(-60))])
    worker.wait(lambda: transitions(here, "run_1") == ["accepted", "settled"], "run_1 is settled", 60)
    (change,) = [m for m in here.read(CHANGED) if value(m)["transition"] == "settled"]
    assert change.timestamp()[1] >= datetime.fromisoformat(ended).timestamp() * 1_000
    assert value(change)["cause"]["kind"] == "settlement"


def test_neither_twice_nor_never(here: World) -> None:
    """A worker is killed among its ticks, another joins and leaves: each run is settled once."""
    here.create()
    names = [f"run_{number}" for number in range(300)]
    old = in_(-86_400)
    here.produce(record for name in names for record in (recorded(name, old), passed(name, old)))
    first = here.worker("--slow", "0.2", BATCH_MAX_RECORDS="20", **AT_ONCE)
    first.wait(lambda: any(value(m)["transition"] == "settled" for m in here.read(CHANGED)), "one is settled", 60)
    second = here.worker("--slow", "0.2", BATCH_MAX_RECORDS="20", **AT_ONCE)
    second.wait_said("serving", 60)
    first.kill()
    third = here.worker(**AT_ONCE)
    third.wait_said("serving", 60)
    second.send(signal.SIGTERM)
    second.wait_end()
    third.wait(lambda: all_settled(here, names), "all are settled", 90)
    here.settle()
    for name in names:
        assert transitions(here, name) == ["accepted", "settled"]


def all_settled(world: World, names: list[str]) -> bool:
    settled = [value(m)["run_id"] for m in world.read(CHANGED) if value(m)["transition"] == "settled"]
    return set(settled) == set(names)


def test_a_backlog_settles_nothing_early(here: World) -> None:
    """All was read after its windows had closed, and slowly: each revert in the backlog comes before any settlement."""
    here.create()
    names = [f"run_{number}" for number in range(60)]
    shas = {name: f"{number:08x}{SHA[8:]}" for number, name in enumerate(names, 1)}
    old = in_(-86_400)
    here.produce(record for name in names for record in (recorded(name, old, shas[name]), passed(name, old)))
    here.produce((COMMIT_EVENTS, shas[name].encode(), judged(name, "event", "revert", "x", old)) for name in names)
    worker = here.worker("--slow", "0.4", BATCH_MAX_RECORDS="5", **AT_ONCE)
    worker.wait(lambda: all_settled(here, names), "all are settled", 90)
    for name in names:
        assert transitions(here, name)[-2:] in (["reversed", "settled"], ["rejected", "settled"])
        assert "settled" not in transitions(here, name)[:-1]
    assert len(here.read(REVERSED)) == len(names)


def test_a_revert_after_settlement(here: World) -> None:
    """Observed inside the window and read after it was settled: an alert, and it says so."""
    here.create()
    worker = here.worker(**AT_ONCE)
    old = in_(-86_400)
    here.produce([recorded("run_1", old, SHA), passed("run_1", old)])
    worker.wait(lambda: transitions(here, "run_1") == ["accepted", "settled"], "run_1 is settled", 60)
    here.produce([(COMMIT_EVENTS, SHA[:12].encode(), judged("e", "event", "revert", "x", old))])
    worker.wait(lambda: here.read(REVERSED), "the alert", 60)
    alert: Any = value(here.read(REVERSED)[0])
    assert (alert["reversed"], alert["after_settlement"], alert["settled"]) == (True, True, True)


def test_without_a_clock_s_word_nothing_is_settled(here: World) -> None:
    """With a day of grace: the window of a run that ended just now has closed, and is not settled."""
    here.create()
    worker = here.worker(SETTLE_GRACE_SECONDS="86400")
    here.produce([recorded("run_1", in_(-3_600)), passed("run_1", in_(-3_600))])
    here.produce([recorded("run_2", in_(-90_000)), passed("run_2", in_(-90_000))])
    worker.wait(lambda: transitions(here, "run_2") == ["accepted", "settled"], "run_2 is settled", 60)
    assert transitions(here, "run_1") == ["accepted"]
    assert [value(m)["settled"] for m in here.read(ACCEPTANCE) if m.key() == b"run_1"][-1] is False
