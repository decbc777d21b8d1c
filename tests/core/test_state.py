"""What a run's state is: its newest document and a set of signals; nothing of order, repetition or arrival."""

from itertools import permutations
from typing import Any

import pytest

from tests.core.given import (
    BEFORE,
    RUN,
    SHA,
    Given,
    Played,
    commit_event,
    day,
    event,
    forget,
    inside,
    play,
    raw,
    run,
    score,
    signal,
    verdict,
)

PASS = verdict("tests", "pass", id="pass")
FAIL = verdict("tests", "fail", day(-0.01), id="fail")
REVERT = event("revert", day(1), id="revert")


def state(said: Played) -> Any:
    """The answer, without what counts inputs."""
    return {name: value for name, value in said.last().items() if name not in ("version", "cause")}


def test_the_newest_document_is_the_last_one_in_the_topic_s_order() -> None:
    """Not the one that ended last; it replaces the one before whole."""
    said = play(run("tests", title="first", ended_at=day(9), labels={"a": "b"}), PASS)
    assert (said.last()["title"], said.last()["workspace"], said.last()["labels"]) == ("first", None, {"a": "b"})
    said.then(run("tests", "review", title="second", ended_at=day(0), workspace="w"))
    last = said.last()
    assert said.answer() == ("unknown", ["missing:review"])
    assert (last["title"], last["workspace"], last["labels"]) == ("second", "w", {})


def test_an_older_document_s_rule_is_gone() -> None:
    """A newer document without a rule is `no_rule`."""
    said = play(run("tests"), PASS, run(rule=None))
    assert said.answer() == ("unknown", ["no_rule"])
    assert said.transitions() == ["accepted", "withdrawn"]


def test_signals_inside_the_newest_document_count_too() -> None:
    """And go when a newer document leaves them out: that is how a wrong one is corrected."""
    said = play(run("tests", signals=inside(PASS, FAIL)))
    assert said.answer() == ("rejected", ["failed:tests"])
    assert said.then(run("tests", signals=inside(PASS))).answer() == ("accepted", [])
    assert said.then(run("tests")).answer() == ("unknown", ["missing:tests"])


def test_a_signal_that_also_came_alone_stays() -> None:
    """What came on `signals` does not go with a document; both are one signal."""
    said = play(run("tests", signals=inside(PASS)), PASS, run("tests"))
    assert said.answer() == ("accepted", [])
    assert said.last()["used"] == ["pass"]
    assert said.last()["violations"] == []


def test_the_document_may_come_last() -> None:
    """Signals that came before any document are not lost."""
    assert play(PASS, REVERT, run("tests")).transitions() == ["reversed"]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_order_and_interleaving_do_not_change_the_state(order: tuple[int, ...]) -> None:
    """Any order of signals and events, and of these with the document, comes to one answer."""
    given = [run("tests", commits=[SHA]), PASS, REVERT, commit_event(SHA[:9], "incident", day(2), id="incident")]
    said = play(*(given[place] for place in order))
    assert state(said) == state(play(*given))
    assert said.last()["reversed"]
    assert said.again() == []


def test_a_repeated_signal_is_applied_and_changes_nothing() -> None:
    """An acceptance is emitted, `version` goes on, and nothing is announced."""
    said = play(run("tests"), PASS)
    before = state(said)
    said.then(PASS, PASS)
    assert (said.last()["version"], state(said)) == (4, before)
    assert said.last()["cause"]["offset"] == 2
    assert said.transitions() == ["accepted"]


GIVEN = {
    "id": "x",
    "at_attempt": "a1",
    "source": {"kind": "ci", "ref": "r"},
    "unit": "s",
    "better": "lower",
    "target": 5,
}
ONE = signal("score", "speed", 7, BEFORE, scale="log", **GIVEN)
SAME: list[dict[str, Any]] = [
    {"value": 7.0},
    {"target": 5.0},
    {"observed_at": "2026-03-01T12:00:00.000+01:00"},
    {"observed_at": "2026-03-01T11:00:00.0000000009Z"},
    {"ext": {"a": 1}, "unknown": True},
    {"source": {"kind": "ci", "ref": "r", "ext": {"a": 1}}},
]
OTHER: list[dict[str, Any]] = [
    {"id": "y"},
    {"name": "Speed"},
    {"value": 7.000001},
    {"value": None},
    {"unit": "ms"},
    {"unit": None},
    {"better": "higher"},
    {"target": 6},
    {"scale": "linear"},
    {"scale": None},
    {"at_attempt": "a2"},
    {"observed_at": "2026-03-01T11:00:00.000000001Z"},
    {"source": {"kind": "user", "ref": "r"}},
    {"source": {"kind": "ci"}},
    {"source": None},
    {"tier": "reported"},
    {"kind": "event", "value": "7"},
]


@pytest.mark.parametrize("change", SAME, ids=str)
def test_two_signals_are_one_when_all_that_is_compared_is_equal(change: dict[str, Any]) -> None:
    """Numbers by value, instants to the nanosecond; `ext` and unknown fields are not compared."""
    said = play(raw("signals", RUN, ONE), raw("signals", RUN, {**ONE, **change}))
    assert said.last()["violations"] == []


@pytest.mark.parametrize("change", OTHER, ids=str)
def test_two_signals_are_two_when_anything_compared_differs(change: dict[str, Any]) -> None:
    """Both stay; if they have one id it is listed in `violations`."""
    said = play(raw("signals", RUN, ONE), raw("signals", RUN, {**ONE, **change}))
    assert said.last()["violations"] == ([] if "id" in change else ["repeated_id:x"])


def test_no_scale_is_not_linear() -> None:
    """Fields as given."""
    given = [score("speed", 1, id="x"), score("speed", 1, id="x", scale="linear")]
    assert play(*given).last()["violations"] == ["repeated_id:x"]


@pytest.mark.parametrize("field", ["unit", "better", "target", "scale", "at_attempt", "source"])
def test_an_optional_field_that_is_null_reads_as_absent(field: str) -> None:
    """In a signal; and so does a source's `ref`."""
    without = {name: value for name, value in ONE.items() if name != field}
    said = play(raw("signals", RUN, without), raw("signals", RUN, {**without, field: None}))
    assert said.last()["violations"] == []
    source = {**ONE, "source": {"kind": "ci"}}
    said = play(raw("signals", RUN, source), raw("signals", RUN, {**source, "source": {"kind": "ci", "ref": None}}))
    assert said.last()["violations"] == []


def test_two_different_signals_with_one_id_both_stay() -> None:
    """Both count, wherever they came from, and the id is used once."""
    said = play(run("tests", "review"), verdict("tests", "pass", id="x"), verdict("review", "pass", id="x"))
    assert said.answer() == ("accepted", [])
    assert (said.last()["used"], said.last()["violations"]) == (["x"], ["repeated_id:x"])


def test_a_repeated_id_is_over_when_one_of_the_two_goes() -> None:
    """The violation is one of the state."""
    said = play(run("tests", signals=inside(verdict("tests", "pass", id="x"))), verdict("tests", "fail", id="x"))
    assert said.last()["violations"] == ["repeated_id:x"]
    assert said.then(run("tests")).last()["violations"] == []


def test_what_is_shown_of_a_signal_is_what_is_compared() -> None:
    """Instants in UTC with `Z` and no trailing zeros; no `ext`, nothing unknown, nothing that was null."""
    source = {"kind": "ci", "ref": "r", "ext": {"a": 1}}
    made = {"ext": {"a": 1}, "more": 1, "unit": None, "source": source, "id": "x"}
    (change,) = play(run("tests"), verdict("tests", "pass", "2026-03-01T12:30:00.120+01:00", **made)).changes()
    assert change["cause"]["signal"] == {
        "id": "x",
        "kind": "verdict",
        "name": "tests",
        "value": "pass",
        "observed_at": "2026-03-01T11:30:00.12Z",
        "source": {"kind": "ci", "ref": "r"},
        "tier": "verified",
    }


# --- forgetting ------------------------------------------------------------------------------------


def test_a_null_document_forgets() -> None:
    """Document and signals go; a null is written, which counts in `version`; `withdrawn` is announced."""
    said = play(run("tests"), PASS, forget())
    assert said.last() is None
    assert said.transitions() == ["accepted", "withdrawn"]
    change = said.changes()[-1]
    assert (change["version"], change["seq"], change["reasons"], change["rule"]) == (3, 2, ["no_run"], None)
    assert (change["from"], change["to"], change["used"]) == ("accepted", "unknown", [])


@pytest.mark.parametrize(("given", "announced"), [([], []), ([PASS], ["accepted"]), ([FAIL], ["rejected"])])
def test_forgetting_is_announced_if_the_run_was_accepted_or_rejected(given: list[Given], announced: list[str]) -> None:
    """An unknown run is forgotten in silence, and so is one that nobody knew."""
    assert play(run("tests"), *given, forget()).transitions() == announced + ["withdrawn"] * len(announced)
    assert play(forget()).values("acceptance") == [None]


def test_a_forgotten_run_goes_on_counting_when_it_is_recorded_again() -> None:
    """The stub keeps `version` and `seq`, and nothing else: the old signals do not come back."""
    said = play(run("tests"), PASS, forget(), run("tests"))
    assert said.answer() == ("unknown", ["missing:tests"])
    assert said.last()["version"] == 4
    said.then(verdict("tests", "pass", day(3)))
    assert [change["seq"] for change in said.changes()] == [1, 2, 3]
    assert said.transitions() == ["accepted", "withdrawn", "accepted"]


def test_forgetting_resolves_an_alert() -> None:
    """`withdrawn`, with `reversed` false, goes to the alert feed too."""
    said = play(run("tests"), PASS, REVERT, forget())
    assert (said.transitions(), said.alerts()) == (["accepted", "reversed", "withdrawn"], [True, False])


def test_kept_commit_events_stay_and_match_again() -> None:
    """When the run is recorded again, with the commit."""
    said = play(run("tests", commits=[SHA]), PASS, commit_event(SHA), forget(), PASS, run("tests", commits=[SHA]))
    assert said.transitions() == ["accepted", "reversed", "withdrawn", "accepted", "reversed"]


def test_runs_do_not_touch_each_other() -> None:
    """A signal is its run's alone."""
    said = play(run("tests"), run("tests", of="run_2"), PASS, verdict("tests", "fail", of="run_2"))
    assert (said.last()["status"], said.last("run_2")["status"]) == ("accepted", "rejected")
    assert said.then(forget("run_2")).last()["status"] == "accepted"
