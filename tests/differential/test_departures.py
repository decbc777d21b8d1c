"""Each departure from the reference reader in its smallest example: what it says, and what is said here."""

from typing import Any

import pytest

from tests.core.given import BEFORE, SHA, commit_event, day, play, rule, run, signal
from tests.differential.departures import BY_NAME, departures
from tests.differential.reference import Answer, product_of, reference

JSON = dict[str, Any]
PASS = signal("verdict", "tests", "pass", BEFORE)
FAIL = signal("verdict", "tests", "fail", BEFORE)
REVERT = signal("event", "revert", "ref", day(1))
TESTS = rule("tests")
SPEED = {"name": "speed", "target": 5, "better": "higher"}


def document(rule: JSON | None, *signals: JSON, **run: Any) -> JSON:
    return {"ocp": "0.3", "run": {"ended_at": day(0), "acceptance_rule": rule, "signals": list(signals), **run}}


def score(value: float | None) -> JSON:
    return signal("score", "speed", value, BEFORE)


def pass_at(at: str, value: str = "pass") -> JSON:
    return signal("verdict", "tests", value, at)


def said(status: str, *reasons: str, tier: str | None = "verified") -> Answer:
    return Answer(status, reasons, tier)


RAISED = Answer("", (), None, "OverflowError")
ACCEPTED, LATE = said("accepted"), said("rejected", "late:revert")
MISSING, NO_RUN = said("unknown", "missing:tests", tier=None), said("unknown", "no_run", tier=None)
NO_SCORE = said("unknown", "missing:", tier=None)

# name, document, what the reference says, what is said here
EXAMPLES: list[tuple[str, JSON, Answer, Answer]] = [
    ("window_days_0", document(rule("tests", window_days=0), PASS, REVERT), LATE, ACCEPTED),
    ("excludes_events_empty", document(rule("tests", excludes_events=[]), PASS, REVERT), LATE, ACCEPTED),
    (
        "requires_absent",
        document(rule(requires=..., score=SPEED), score(5)),
        said("unknown", "missing:tests"),
        ACCEPTED,
    ),
    ("no_rule", document(None, PASS), ACCEPTED, said("unknown", "no_rule", tier=None)),
    ("empty_name", document(rule(score={**SPEED, "name": ""}), PASS), said("unknown", tier="asserted"), NO_SCORE),
    ("huge", document(rule("tests", window_days=10**9), PASS, REVERT), RAISED, LATE),
    ("huge", document(rule(score=SPEED), score(10**400)), RAISED, NO_RUN),
    (
        "integer_past_2_53",
        document(rule(score={**SPEED, "target": 2**53 + 1}), score(2**53)),
        ACCEPTED,
        said("rejected", "below_target:speed"),
    ),
    ("tie", document(TESTS, FAIL, PASS), ACCEPTED, said("rejected", "failed:tests")),
    ("tie", document(TESTS, PASS, {**PASS, "tier": "asserted"}, PASS), ACCEPTED, said("accepted", tier="asserted")),
    (
        "repeated_event",
        document(TESTS, PASS, REVERT, REVERT),
        said("rejected", "late:revert", "late:revert"),
        LATE,
    ),
    (
        "nanoseconds",
        document(TESTS, pass_at(day(-1, ns=2)), pass_at(day(-1, ns=1), "fail")),
        said("rejected", "failed:tests"),
        ACCEPTED,
    ),
    ("nanoseconds", document(TESTS, PASS, {**REVERT, "observed_at": day(14, ns=1)}), LATE, ACCEPTED),
    ("no_calendar_has_it", document(TESTS, PASS, {**REVERT, "observed_at": "2026-02-30T00:00:00Z"}), LATE, ACCEPTED),
    ("no_calendar_has_it", document(TESTS, PASS, {**REVERT, "observed_at": "2026-06-30T23:59:60Z"}), LATE, ACCEPTED),
    ("no_calendar_has_it", document(TESTS, PASS, ended_at="2026-02-30T00:00:00Z"), ACCEPTED, NO_RUN),
    (
        "after_now",
        document(TESTS, PASS, {**REVERT, "observed_at": "2999-01-01T00:00:00Z"}, ended_at=None),
        ACCEPTED,
        LATE,
    ),
    (
        "shared",
        document(TESTS, FAIL, ext={"dev.loopmath.share": {"z": 1.0, "tier": "reported"}}),
        said("accepted", "shared", tier="reported"),
        said("rejected", "failed:tests"),
    ),
    ("verdict_in_another_case", document(TESTS, pass_at(BEFORE, "PASS")), ACCEPTED, MISSING),
    (
        "error_reason",
        document(TESTS, pass_at(day(-1)), pass_at(BEFORE, "error")),
        said("unknown", "missing:tests", tier="asserted"),
        said("unknown", "error:tests", tier=None),
    ),
    (
        "unmeasured_reason",
        document(rule("tests", score=SPEED), PASS, score(None)),
        said("unknown", "missing:speed"),
        said("unknown", "unmeasured:speed"),
    ),
    (
        "empty_rule_reason",
        document(rule(), PASS),
        said("unknown", tier="asserted"),
        said("unknown", "empty_rule", tier=None),
    ),
    (
        "late_reasons",
        document(TESTS, PASS, {**REVERT, "name": "incident", "id": "i"}, REVERT),
        said("rejected", "late:incident", "late:revert"),
        said("rejected", "late:revert", "late:incident"),
    ),
    (
        "required_twice",
        document(rule("tests", "tests"), FAIL),
        said("rejected", "failed:tests", "failed:tests"),
        said("rejected", "failed:tests"),
    ),
    ("tier_null", document(TESTS), said("unknown", "missing:tests", tier="asserted"), MISSING),
]


@pytest.mark.parametrize(("name", "given", "there", "here"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_the_readers_really_differ(name: str, given: JSON, there: Answer, here: Answer) -> None:
    """Both are as expected, and the departure is one that applies."""
    assert there != here
    assert (reference(given), product_of(given)) == (there, here)
    assert name in departures(given)


def test_every_departure_has_an_example() -> None:
    """None is claimed that does not show."""
    assert {name for name, *_ in EXAMPLES} == set(BY_NAME)


def test_an_ambiguous_short_sha_identifies_neither_of_two_commits() -> None:
    """The reference has no shas to compare: whoever wrote the event into a document had decided what it is about."""
    event = commit_event(SHA[:8], id="ev", at=day(1))
    other = SHA[:8] + "0" * 32
    here = play(run("tests", commits=[SHA]), run("tests", of="run_2", commits=[other]), event)
    assert here.last()["violations"] == ["ambiguous_commit:ev"]
    assert here.answer() == ("unknown", ["missing:tests"])
    there = reference(document(TESTS, PASS, {**REVERT, "id": "ev"}))
    assert there == LATE
