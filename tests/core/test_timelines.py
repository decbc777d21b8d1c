"""Real repositories' histories, and hard cases from public bug reports, through `replay`."""

import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from processor.replay import replay

HERE = Path(__file__).parents[1]
CASES = [json.loads(line) for line in (HERE / "cases" / "cases.jsonl").read_text().splitlines()]
TIMELINES = ["cargo", "faust"]
EVENTS_FIRST = {"commit-events": 0, "signals": 1, "runs": 2}


def last_acceptances(lines: list[bytes]) -> dict[str, Any]:
    """The newest acceptance of each run."""
    found = map(orjson.loads, replay(lines))
    return {record["key"]: record["value"] for record in found if record["topic"] == "acceptance"}


def timeline(name: str) -> tuple[list[bytes], dict[str, Any]]:
    """A history's records, and what is expected of each run."""
    lines = gzip.decompress((HERE / "timelines" / f"{name}.records.jsonl.gz").read_bytes()).splitlines()
    expected = (json.loads(line) for line in (HERE / "timelines" / f"{name}.expected.jsonl").read_text().splitlines())
    return lines, {run["run"]: run for run in expected}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_case_from_a_bug_report(case: dict[str, Any]) -> None:
    """Each run of the case ends with the status that was found right."""
    found = last_acceptances([orjson.dumps(record) for record in case["records"]])
    assert {run: (found.get(run) or {}).get("status") for run in case["expected"]} == case["expected"]


@pytest.mark.parametrize("name", TIMELINES)
def test_a_repository_s_history(name: str) -> None:
    """Every run, and no other, has the expected status; one that was reverted in time is reversed."""
    lines, expected = timeline(name)
    found = last_acceptances(lines)
    assert {run: answer["status"] for run, answer in found.items()} == {r: e["status"] for r, e in expected.items()}
    assert {run: len(answer["late_events"]) for run, answer in found.items()} == {
        r: e["late"] for r, e in expected.items()
    }
    assert {run for run, answer in found.items() if answer["reversed"]} == {r for r, e in expected.items() if e["late"]}


@pytest.mark.parametrize("name", TIMELINES)
def test_the_worst_order_loses_no_alert(name: str) -> None:
    """With all commit events first, then signals, then runs, the answers and the alerts are the same."""
    lines, _ = timeline(name)
    worst = sorted(lines, key=lambda line: EVENTS_FIRST[json.loads(line)["topic"]])

    def answers(given: list[bytes]) -> dict[str, Any]:
        ignored = ("version", "cause")
        return {r: {k: v for k, v in a.items() if k not in ignored} for r, a in last_acceptances(given).items()}

    assert answers(worst) == answers(lines)


def test_the_copies_are_current() -> None:
    """The histories and cases kept here are the ones they were taken from."""
    shared = HERE.parents[1] / "shared"
    if not shared.exists():
        pytest.skip("the originals are not beside this checkout")
    for path in [HERE / "cases" / "cases.jsonl", *sorted((HERE / "timelines").iterdir())]:
        assert path.read_bytes() == (shared / path.parent.name / path.name).read_bytes()
