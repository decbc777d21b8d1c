"""`acceptance explain` and `acceptance what-if`, on what a worker has written."""

import json
from pathlib import Path
from typing import Any

import pytest

from processor.lines import decode_line
from tests.broker import REPOSITORY
from tests.commands.cli import acceptance
from tests.e2e.world import World

LINES = (REPOSITORY / "demo/reverted.jsonl").read_bytes().splitlines()
RULE: dict[str, Any] = {"name": "strict", "definition": "d", "requires": ["tests", "review", "security"]}


@pytest.fixture
def worked_off(here: World) -> World:
    """The README's example, step by step."""
    here.create()
    here.worker()
    for number, text in enumerate(LINES, 1):
        line = decode_line(text, number)
        here.produce([(line.topic, line.key, line.value)])
        here.settle()
    return here


def ask(world: World, *args: str) -> tuple[int, str]:
    done = acceptance(world.settings, *args)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_explain(worked_off: World) -> None:
    """The clauses, the revert with its distance and commit, and the whole history with its causes."""
    status, said = ask(worked_off, "explain", "run_1", "--json")
    found = json.loads(said)
    assert (status, found["status"], found["reversed"]) == (0, "rejected", True)
    assert [clause["holds"] for clause in found["clauses"]] == [True, True]
    (late,) = found["late_events"]
    assert (late["counts"], late["days_after_end"], late["match"]) == (True, 1.97, "prefix")
    assert found["history_is_whole"]
    assert [change["transition"] for change in found["history"]] == ["accepted", "reversed"]
    status, said = ask(worked_off, "explain", "run_1", "--as-of", "2026-09-24")
    assert status == 0
    assert "run_1  accepted" in said
    assert "reversed" not in said
    status, said = ask(worked_off, "explain", "run_1")
    assert "1.97 days after the end, 12.03 days before the window closes, commit 4f2a9c1be0 (prefix)" in said
    assert "accepted → rejected  revert ev_9" in said


def test_explain_a_run_that_is_not_there(worked_off: World) -> None:
    """1, and one harmless sentence."""
    status, said = ask(worked_off, "explain", "run_\x1b[31m")
    assert status == 1
    assert said == f"acceptance: no run run_\\x1b[31m in the state of {worked_off.tag}. Is APPLICATION_ID right?\n"


def test_what_if(worked_off: World, tmp_path: Path) -> None:
    """A stricter rule: which runs flip, and how many alerts are left. Nothing is written."""
    before = worked_off.ends(worked_off.name("runs-changelog"))
    path = tmp_path / "rule.json"
    path.write_text(json.dumps(RULE | {"excludes_events": []}))
    status, said = ask(worked_off, "what-if", "--rule", str(path), "--json")
    found = json.loads(said)
    assert (status, found["runs"], found["alerts_now"], found["alerts_then"]) == (1, 1, 1, 0)
    (flip,) = found["flips"]
    assert (flip["run_id"], flip["from"], flip["to"], flip["reasons"]) == (
        "run_1",
        "rejected",
        "unknown",
        ["missing:security"],
    )
    status, said = ask(worked_off, "what-if", "--rule", str(path))
    assert status == 1
    assert "1 runs, 1 would be judged differently" in said
    assert "alerts: 1 now, 0 under this rule" in said
    assert ask(worked_off, "what-if", "--rule", str(path), "--since", "2027-01-01")[0] == 0
    assert ask(worked_off, "what-if", "--rule", str(path), "--label", "team=none")[0] == 0
    assert worked_off.ends(worked_off.name("runs-changelog")) == before


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        (None, 66, "cannot be read"),
        ("{}", 65, "is no acceptance rule: name: Field required"),
        ("{", 65, "is no acceptance rule: the file: Invalid JSON"),
    ],
)
def test_a_rule_that_cannot_be_read(here: World, tmp_path: Path, text: str | None, code: int, sentence: str) -> None:
    """Exit codes of sysexits, and what is wrong with the file."""
    path = tmp_path / "rule.json"
    if text is not None:
        path.write_text(text)
    done = acceptance(here.settings, "what-if", "--rule", str(path))
    assert (done.returncode, done.stdout) == (code, "")
    assert sentence in done.stderr
