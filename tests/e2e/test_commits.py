"""Commit events find their runs, whichever comes first: both pipelines together on a real broker."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from processor.record import ACCEPTANCE, COMMIT_EVENTS, REVERSED, RUNS, SIGNALS
from tests.e2e.checks import broken
from tests.e2e.world import World, value

SHA = "4f2a9c1d8e7b6a5f4e3d2c1b0a9f8e7d6c5b4a39"
OTHER = "9b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c"


def run(run_id: str, *commits: str) -> tuple[str, bytes, bytes]:
    """A run that is accepted when its tests pass, and that names these commits."""
    rule = {"name": "tests", "definition": "tests pass", "requires": ["tests"]}
    artifacts = [
        {
            "id": f"commit{n}",
            "path": sha,
            "kind": {"value": "commit", "tier": "verified"},
            "producer": "a1",
            "writers": ["a1"],
            "consumers": [],
            "first_write_at": None,
            "n_writes": 1,
            "n_reads": 0,
        }
        for n, sha in enumerate(commits)
    ]
    document = {
        "ocp": "0.3",
        "producer": {"name": "test"},
        "privacy": {"profile": "metadata_only"},
        "run": {"id": run_id, "ended_at": "2026-09-23T17:50:00Z", "acceptance_rule": rule},
        "nodes": [{"id": "n", "kind": "impl"}],
        "artifacts": artifacts,
    }
    return RUNS, run_id.encode(), orjson.dumps(document)


def passed(run_id: str) -> tuple[str, bytes, bytes]:
    signal = {"id": "sig_tests", "kind": "verdict", "name": "tests", "value": "pass", "tier": "verified"}
    signal |= {"observed_at": "2026-09-23T17:56:00Z", "source": {"kind": "ci"}}
    return SIGNALS, run_id.encode(), orjson.dumps(signal)


def reverted(sha: str, event_id: str = "ev_1") -> tuple[str, bytes, bytes]:
    event = {"id": event_id, "kind": "event", "name": "revert", "value": "reverted", "tier": "reported"}
    event |= {"observed_at": "2026-09-25T09:00:00Z", "source": {"kind": "tracker"}}
    return COMMIT_EVENTS, sha.encode(), orjson.dumps(event)


@pytest.fixture
def after(here: World) -> Callable[..., dict[str, Any]]:
    """Puts records in, step by step, each worked off before the next, and gives each run's last acceptance."""
    here.create()
    here.worker().wait_said("serving")

    def put(*steps: list[tuple[str, bytes, bytes]]) -> dict[str, Any]:
        for records in steps:
            here.produce(records)
            here.settle()
        assert broken(here) == {}
        return {(m.key() or b"").decode(): value(m) for m in here.read(ACCEPTANCE)}

    return put


def test_an_event_after_its_run(here: World, after: Callable[..., dict[str, Any]]) -> None:
    """A revert of a commit that an accepted run names rejects the run and raises the alert."""
    last = after([run("run_1", SHA), passed("run_1")], [reverted(SHA)])
    assert (last["run_1"]["status"], last["run_1"]["reversed"]) == ("rejected", True)
    [late] = last["run_1"]["late_events"]
    assert (late["commit"], late["match"]) == (SHA, "exact")
    assert last["run_1"]["cause"]["topic"] == COMMIT_EVENTS
    [alert] = here.read(REVERSED)
    assert value(alert)["cause"]["signal"]["id"] == "ev_1"


def test_an_event_before_its_run(after: Callable[..., dict[str, Any]]) -> None:
    """A revert that is known before the run that it is about is found when the run is recorded."""
    last = after([reverted(SHA)], [passed("run_1")], [run("run_1", SHA)])
    assert (last["run_1"]["status"], last["run_1"]["reversed"]) == ("rejected", True)


def test_a_short_sha_in_capitals(after: Callable[..., dict[str, Any]]) -> None:
    """Seven digits in upper case, with spaces around them, mean the commit that begins with them."""
    last = after([run("run_1", SHA), passed("run_1")], [reverted(f" {SHA[:7].upper()} ")])
    [late] = last["run_1"]["late_events"]
    assert (late["commit"], late["match"]) == (SHA, "prefix")


def test_two_runs_of_one_commit(after: Callable[..., dict[str, Any]]) -> None:
    """One event goes to each run that names the commit."""
    last = after([run("run_1", SHA), run("run_2", OTHER, SHA), passed("run_1"), passed("run_2")], [reverted(SHA)])
    assert [last[r]["reversed"] for r in ("run_1", "run_2")] == [True, True]


def test_an_ambiguous_sha(after: Callable[..., dict[str, Any]]) -> None:
    """A short sha that fits two commits counts for neither run, and both say so."""
    twin = SHA[:9] + "0" * 31
    last = after([run("run_1", SHA), run("run_2", twin), passed("run_1"), passed("run_2")], [reverted(SHA[:8])])
    assert [last[r]["status"] for r in ("run_1", "run_2")] == ["accepted", "accepted"]
    assert [last[r]["violations"] for r in ("run_1", "run_2")] == [["ambiguous_commit:ev_1"]] * 2


def test_a_commit_that_is_no_longer_named(after: Callable[..., dict[str, Any]]) -> None:
    """A newer document without the commit: its events count no more, and the run is accepted again."""
    last = after([run("run_1", SHA), passed("run_1")], [reverted(SHA)], [run("run_1", OTHER)])
    assert (last["run_1"]["status"], last["run_1"]["late_events"]) == ("accepted", [])
