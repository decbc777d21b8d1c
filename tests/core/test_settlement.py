"""Settled: an answer that is final, as a property of the state; what comes late all the same is said."""

import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from processor import internal
from processor.instants import NS, instant
from processor.record import ACCEPTANCE, CHANGED, RUN_INPUTS
from processor.replay import replay
from processor.settings import Settings
from tests.core.given import (
    RUN,
    SHA,
    Given,
    Played,
    commit_event,
    day,
    document,
    event,
    forget,
    play,
    raw,
    rule,
    run,
    verdict,
)

CLOSES = instant(day(14)) // NS


def tick(closed: int = CLOSES) -> Given:
    """Time, as a record."""
    made = internal.tick(RUN_INPUTS, RUN.encode(), closed)
    return Given(made.topic, made.key, made.value, headers=made.headers)


def test_a_run_settles_once() -> None:
    """The change says so, with the settlement as its cause; a second tick changes nothing, and says nothing."""
    played = play(run("tests"), verdict("tests", "pass"), tick(), tick())
    assert played.transitions() == ["accepted", "settled"]
    change = played.changes()[-1]
    assert (change["from"], change["to"], change["settled"]) == ("accepted", "accepted", True)
    assert (change["cause"]["topic"], change["cause"]["kind"], change["cause"]["signal"]) == (
        "run-inputs",
        "settlement",
        None,
    )
    assert "after_settlement" not in change
    assert played.last()["version"] == 3
    assert played.last()["settled"]


def test_before_the_window_has_closed_nothing_is_settled() -> None:
    """A tick of a second before."""
    played = play(run("tests"), verdict("tests", "pass"), tick(CLOSES - 1))
    assert played.transitions() == ["accepted"]
    assert not played.last()["settled"]


def test_an_unknown_status_is_not_announced() -> None:
    """When it is known at last, its change says that it is settled."""
    played = play(run("tests"), tick())
    assert played.transitions() == []
    assert played.last()["settled"]
    played.then(verdict("tests", "pass"))
    assert played.transitions() == ["accepted"]
    assert played.changes()[-1]["settled"]
    assert "after_settlement" not in played.changes()[-1]


def test_a_late_arrival_still_reverses() -> None:
    """Observed inside the window, read after it was settled: the alert is raised, and says that it comes after."""
    played = play(raw("runs", RUN, document(rule=rule("tests"), commits=[SHA])), verdict("tests", "pass"), tick()).then(
        commit_event(SHA, at=day(3))
    )
    assert played.transitions() == ["accepted", "settled", "reversed"]
    assert played.alerts() == [True]
    assert played.changes()[-1]["after_settlement"] is True
    assert played.changes()[-1]["settled"]


def test_a_newer_document_opens_the_window_again() -> None:
    """It settles again in time; one that shortens the window stays settled."""
    longer = run(rule=rule("tests", window_days=30))
    played = play(run("tests"), verdict("tests", "pass"), tick(), longer)
    assert played.transitions() == ["accepted", "settled", "reopened"]
    assert not played.last()["settled"]
    played.then(event("revert", day(20)), verdict("tests", "pass", id="again"), tick(instant(day(30)) // NS))
    assert played.transitions()[3:] == ["reversed", "settled"]
    shorter = play(run("tests"), verdict("tests", "pass"), tick(), run(rule=rule("tests", window_days=3)))
    assert shorter.transitions() == ["accepted", "settled"]


def test_a_forgotten_run_is_not_settled() -> None:
    """A tick on its way finds nothing, and leaves nothing."""
    played = play(run("tests"), verdict("tests", "pass"), forget())
    version = len(played.values(ACCEPTANCE))
    played.then(tick())
    assert len(played.values(ACCEPTANCE)) == version
    assert not played.then(run("tests")).last()["settled"]


INPUTS = [
    run("tests"),
    verdict("tests", "pass", day(-1)),
    verdict("tests", "fail", day(-2)),
    event("revert", day(3)),
    tick(),
    tick(CLOSES - 5),
    tick(CLOSES + 5),
]


@settings(deadline=None, max_examples=200)
@drawn(st.permutations(INPUTS[1:]), st.integers(0, 6))
def test_any_order_of_inputs_and_ticks_is_one_state(order: list[Given], place: int) -> None:
    """The document once more at any place; ticks before it find no run, so the first comes first."""

    def state(played: Played) -> dict[str, Any]:
        return {name: value for name, value in played.last().items() if name != "cause"}

    assert state(play(INPUTS[0], *order[:place], INPUTS[0], *order[place:])) == state(play(INPUTS[0], *INPUTS))


def lines(*given: Given) -> list[bytes]:
    """As a file has them."""
    return [
        json.dumps({"topic": g.topic, "key": (g.key or b"").decode(), "value": json.loads(g.value or b"null")}).encode()
        for g in given
    ]


@pytest.mark.parametrize(
    ("now", "transitions"), [(None, ["accepted"]), (0, ["accepted"]), (-1, ["accepted"]), (1, ["accepted", "settled"])]
)
def test_replay_has_a_now(now: int | None, transitions: list[str]) -> None:
    """A day of grace after the window's close, and not before; twice the same file is the same."""
    grace = Settings().settle_grace_seconds
    at = None if now is None else 0 if now == 0 else CLOSES + grace + (min(0, now))
    said = [json.loads(line) for line in replay(lines(run("tests"), verdict("tests", "pass")), Settings(), at)]
    assert [line["value"]["transition"] for line in said if line["topic"] == CHANGED] == transitions


def test_each_tick_is_said_once() -> None:
    """By the index beside the rows: never early, when it is due, again when the window moved."""
    played = play(run("tests"), verdict("tests", "pass"))
    table = played._replay.tables["runs"]
    assert table.ticks(CLOSES - 1, 10) == []
    assert [tick.value for tick in table.ticks(CLOSES, 10)] == [b"%d" % CLOSES]
    played.then(verdict("tests", "fail", id="meanwhile"))
    assert table.ticks(CLOSES, 10) == []
    played.then(run(rule=rule("tests", window_days=15)))
    assert table.ticks(CLOSES, 10) == []
    assert [tick.value for tick in table.ticks(CLOSES + 86_400, 10)] == [b"%d" % (CLOSES + 86_400)]


def test_a_tick_that_found_no_run_is_said_again() -> None:
    """It was on its way when the run was forgotten, and the run was recorded again at once: it still settles."""
    played = play(run("tests"), verdict("tests", "pass"))
    table = played._replay.tables["runs"]
    assert len(table.ticks(CLOSES, 10)) == 1
    played.then(forget(), tick(), run("tests"), verdict("tests", "pass", id="anew"))
    assert table.ticks(CLOSES + 10, 10) == []
    assert table.ticks(CLOSES + 3_600, 10) == []
    assert [tick.value for tick in table.ticks(CLOSES + 7_200, 10)] == [b"%d" % (CLOSES + 7_200)]


def test_the_pace_is_bounded() -> None:
    """However many are due, no more than asked for come at a time, and all in the end."""
    played = play(*(run("tests", of=f"run_{number}") for number in range(100)))
    table = played._replay.tables["runs"]
    found: list[Any] = []
    for expected in (40, 40, 20, 0):
        ticks = table.ticks(CLOSES, 40)
        assert len(ticks) == expected
        found += ticks
    assert len({tick.key for tick in found}) == 100
