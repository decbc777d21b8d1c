"""Late events: which count, for how long, and what it means that a run is reversed."""

from typing import Any

import pytest

from tests.core.given import BEFORE, ENDED, Given, day, event, inside, play, rule, run, score, verdict

PASS = verdict("tests", "pass", id="pass")
SPEED = {"name": "speed", "target": 10, "better": "higher"}


@pytest.mark.parametrize(
    ("window_days", "at", "counts"),
    [
        (14, ENDED, True),
        (14, day(13.999), True),
        (14, day(14), True),
        (14, day(14, ns=1), False),
        (14, day(14.001), False),
        (..., day(14), True),
        (None, day(14), True),
        (..., day(14, ns=1), False),
        (0, ENDED, True),
        (0, day(0, ns=1), False),
        (1, day(1), True),
        (1, day(1, ns=1), False),
        (0, "0001-01-01T00:00:00Z", True),
        (3_650_000, "9999-12-31T23:59:59.999999999Z", True),
        (10**18, "9999-12-31T23:59:59-23:59", True),
    ],
)
def test_the_window_is_inclusive_and_has_no_lower_bound(window_days: Any, at: str, counts: bool) -> None:
    """observed_at − ended_at ≤ window_days × 24 h; absent → 14, 0 means 0; past the year 9999 is for ever."""
    said = play(run(rule=rule("tests", window_days=window_days)), PASS, event("revert", at))
    assert said.answer() == (("rejected", ["late:revert"]) if counts else ("accepted", []))
    assert said.again() == []


def test_a_day_has_24_hours_in_every_time_zone() -> None:
    """No calendar: a day of 23 hours, when clocks go forward, is not what is counted."""
    given = [run(rule=rule("tests", window_days=1), ended_at="2026-03-28T12:00:00+01:00"), PASS]
    assert play(*given, event("revert", "2026-03-29T13:00:00+02:00")).last()["status"] == "rejected"
    assert play(*given, event("revert", "2026-03-29T13:00:00.000000001+02:00")).last()["status"] == "accepted"


def test_a_run_without_an_end_counts_each_excluded_event() -> None:
    """However late; and there is no closing time and no number of days."""
    said = play(run("tests", ended_at=None), PASS, event("revert", "9999-01-01T00:00:00Z"))
    assert said.answer() == ("rejected", ["late:revert"])
    assert said.last()["window_closes_at"] is None
    assert said.last()["late_events"][0]["days_after_end"] is None


@pytest.mark.parametrize(
    ("excludes", "late"),
    [
        (..., ["late:revert", "late:incident"]),
        (None, ["late:revert", "late:incident"]),
        ([], []),
        (["hotfix"], ["late:hotfix"]),
        (["Revert"], []),
        (["incident", "revert"], ["late:incident", "late:revert"]),
    ],
)
def test_excludes_events(excludes: Any, late: list[str]) -> None:
    """Absent → revert, incident; present and empty → none; names exactly."""
    events = [event(name) for name in ("hotfix", "incident", "revert", "issue")]
    said = play(run(rule=rule("tests", excludes_events=excludes)), PASS, *events)
    assert said.answer() == (("rejected", late) if late else ("accepted", []))


def test_only_a_signal_of_kind_event_is_a_late_event() -> None:
    """A verdict or score of the name is none."""
    said = play(run("tests"), PASS, verdict("revert", "fail", ENDED), score("incident", 1, ENDED))
    assert said.answer() == ("accepted", [])


def test_a_late_event_says_what_it_is() -> None:
    """By observed_at and id; days after the end have two decimals, and may be negative."""
    source = {"kind": "tracker", "ref": "PR 7"}
    given = [
        event("revert", day(2.347), id="b", source=source, tier="reported", value="9c1e"),
        event("revert", "2026-03-01T10:00:00Z", id="z"),
        event("incident", day(2.347), id="a"),
    ]
    found = play(run("tests"), *given).last()["late_events"]
    assert [(item["id"], item["days_after_end"]) for item in found] == [("z", -0.08), ("a", 2.35), ("b", 2.35)]
    assert found[2] == {
        "id": "b",
        "name": "revert",
        "value": "9c1e",
        "source": source,
        "observed_at": day(2.347),
        "days_after_end": 2.35,
        "tier": "reported",
        "commit": None,
        "match": None,
    }


# --- reversed --------------------------------------------------------------------------------------

REVERT = event("revert", day(2))
INCIDENT = event("incident", day(1))


def test_reversed_is_a_late_event_on_a_run_that_had_been_accepted() -> None:
    """Not one that was never accepted, and not an event that does not count."""
    assert play(run("tests"), PASS, REVERT).alerts() == [True]
    assert play(run("tests"), verdict("tests", "fail"), REVERT).alerts() == []
    assert play(run("tests"), REVERT).alerts() == []
    assert play(run("tests"), PASS, event("revert", day(15))).alerts() == []


@pytest.mark.parametrize("place", range(3))
def test_no_order_of_arrival_loses_the_alert(place: int) -> None:
    """A revert that is consumed before the verdict it overturns raises the alert as soon as the verdict comes."""
    given = [run("tests"), PASS]
    given.insert(place, REVERT)
    said = play(*given)
    assert said.last()["reversed"]
    assert said.alerts() == [True]
    assert said.again() == []


def test_reversed_is_a_property_of_the_state() -> None:
    """A verdict that comes after the revert may be what the run had been accepted by; order in time decides nothing."""
    said = play(run("tests"), REVERT, verdict("tests", "pass", day(5)))
    assert said.transitions() == ["rejected", "reversed"]


def test_once_accepted_it_stays_reversible() -> None:
    """A later fail does not undo that all clauses held at an instant before."""
    said = play(run("tests"), PASS, verdict("tests", "fail", day(-0.01)), REVERT)
    assert said.answer() == ("rejected", ["failed:tests", "late:revert"])
    assert said.last()["reversed"]
    assert said.last()["accepted_at"] == BEFORE


@pytest.mark.parametrize("second", ["error", "fail", "reject"])
def test_all_clauses_must_hold_at_one_instant(second: str) -> None:
    """Each on its own is not enough: tests passed, then not, and only then the review accepted."""
    given = [verdict("tests", "pass", day(-3)), verdict("tests", second, day(-2)), verdict("review", "pass", day(-1))]
    said = play(run("tests", "review"), *given, REVERT)
    assert (said.last()["accepted_at"], said.last()["reversed"]) == (None, False)
    assert said.then(verdict("tests", "pass", ENDED)).last()["accepted_at"] == ENDED
    assert said.alerts() == [True]


def test_of_one_instant_the_cautious_verdict_keeps_a_run_from_having_been_accepted() -> None:
    """A pass and a fail at the very same time never held."""
    said = play(run("tests"), PASS, verdict("tests", "fail"), REVERT)
    assert (said.last()["accepted_at"], said.last()["reversed"]) == (None, False)


def test_the_score_takes_part_in_having_been_accepted() -> None:
    """It held from its first good value until a worse one; a null does not end it."""
    made = rule("tests", score=SPEED)
    given = [score("speed", 10, day(-3)), score("speed", None, day(-2)), score("speed", 9, day(-1))]
    assert play(run(rule=made), *given, verdict("tests", "pass", day(-2))).last()["accepted_at"] == day(-2)
    assert play(run(rule=made), *given, verdict("tests", "pass", day(-1))).last()["accepted_at"] is None


def test_accepted_at_is_the_first_instant() -> None:
    """That all clauses held again later does not move it; an earlier signal that comes late does."""
    again = [verdict("tests", "pass", day(-3)), verdict("tests", "fail", day(-2)), verdict("tests", "pass", day(-1))]
    said = play(run("tests"), *again)
    assert said.last()["accepted_at"] == day(-3)
    assert said.then(verdict("tests", "accept", day(-9))).last()["accepted_at"] == day(-9)
    assert said.then(verdict("tests", "fail", day(-9))).last()["accepted_at"] == day(-3)


ATTEMPTS: list[tuple[list[Given], Any]] = [
    ([verdict("tests", "pass", BEFORE, at_attempt="x.a1")], {"id": "x.a1", "number": 1}),
    ([verdict("tests", "pass", BEFORE, at_attempt="x.a3")], {"id": "x.a3", "number": 7}),
    ([verdict("tests", "pass", BEFORE, at_attempt="x.a2")], {"id": "x.a2", "number": 3}),
    ([verdict("tests", "pass", BEFORE, at_attempt="nobody")], {"id": "nobody", "number": None}),
    ([verdict("tests", "pass", BEFORE)], None),
]


@pytest.mark.parametrize(("given", "shown"), ATTEMPTS)
def test_the_attempt_at_which_the_run_was_accepted(given: list[Given], shown: Any) -> None:
    """Its number is `attempts[].n`, else its place among that node's attempts, else null; null when not given."""
    attempts = [
        {"id": "x.a1", "node": "x"},
        {"id": "y.a1", "node": "y"},
        {"id": "x.a3", "node": "x", "n": 7.0},
        {"id": "x.a2", "node": "x"},
    ]
    said = play(run("tests", top={"attempts": attempts}), *given)
    assert said.last()["accepted_at_attempt"] == shown


def test_the_attempt_is_that_of_the_signal_that_completed_the_rule() -> None:
    """The one that came last in time; of several at that instant the smallest id that has one."""
    early = verdict("tests", "pass", day(-2), id="a", at_attempt="early")
    late = [verdict("review", "pass", id=name, **more) for name, more in (("b", {}), ("d", AT_D), ("c", AT_C))]
    said = play(run("tests", "review"), *late, early)
    assert said.last()["accepted_at_attempt"] == {"id": "at c", "number": None}
    both = [verdict("tests", "pass", id="d", **AT_D), verdict("review", "pass", id="c", **AT_C)]
    for required in (("tests", "review"), ("review", "tests")):  # several clauses may begin to hold at once
        assert play(run(*required), *both).last()["accepted_at_attempt"]["id"] == "at c"


AT_C, AT_D = {"at_attempt": "at c"}, {"at_attempt": "at d"}


def test_a_signal_that_only_confirms_completes_nothing() -> None:
    """At the instant of acceptance, a clause that held before is not what completed the rule."""
    given = [
        verdict("tests", "pass", day(-2), id="t1", at_attempt="early"),
        verdict("tests", "pass", id="a", at_attempt="confirmed"),
        verdict("review", "pass", id="b", at_attempt="completed"),
    ]
    assert play(run("tests", "review"), *given).last()["accepted_at_attempt"]["id"] == "completed"


def test_never_accepted_has_no_time_and_no_attempt() -> None:
    """Null, both; a rule with no clause never held."""
    for said in (play(run("tests"), verdict("tests", "fail", at_attempt="x")), play(run(), REVERT, PASS)):
        assert (said.last()["accepted_at"], said.last()["accepted_at_attempt"]) == (None, None)


def test_events_embedded_or_sent_are_the_same() -> None:
    """A document may carry its late events."""
    assert play(run("tests", signals=inside(PASS, INCIDENT, REVERT))).transitions() == ["reversed"]
