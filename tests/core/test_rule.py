"""The rule: verdict and score clauses, their Kleene AND, and what is said of the signals that decided."""

from itertools import product
from typing import Any

import pytest

from tests.core.given import BEFORE, ENDED, Given, day, event, inside, play, rule, run, score, verdict

FIRST, SECOND, THIRD = day(-3), day(-2), day(-1)
SPEED = {"name": "speed", "target": 10, "better": "higher"}
MADE = {
    "true": {"tests": verdict("tests", "pass"), "review": verdict("review", "accept"), "speed": score("speed", 10)},
    "false": {"tests": verdict("tests", "fail"), "review": verdict("review", "reject"), "speed": score("speed", 9)},
    "unknown": {"tests": verdict("tests", "error"), "review": None, "speed": score("speed", None)},
}
REASONS = {
    "true": {},
    "false": {"tests": "failed:tests", "review": "failed:review", "speed": "below_target:speed"},
    "unknown": {"tests": "error:tests", "review": "missing:review", "speed": "unmeasured:speed"},
}
CAUTION = {"reject": 0, "fail": 0, "error": 1, "accept": 2, "pass": 2}
SAID = ("rejected", "unknown", "accepted")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("tests", "review", "speed"), list(product(MADE, repeat=3)))
def test_the_status_is_the_kleene_and_of_the_clauses(tests: str, review: str, speed: str, late: bool) -> None:
    """One false → rejected; else one unknown → unknown; else accepted; a late event rejects in any case."""
    clauses = {"tests": tests, "review": review, "speed": speed}
    signals = [MADE[value][name] for name, value in clauses.items()]
    given = [run(rule=rule("tests", "review", score=SPEED)), *(s for s in signals if s), *([event("revert")] * late)]
    expected = [REASONS[value][name] for name, value in clauses.items() if value != "true"] + ["late:revert"] * late
    status = "rejected" if late or "false" in clauses.values() else "unknown" if expected else "accepted"
    said = play(*given)
    assert said.answer() == (status, expected)
    assert said.last()["reversed"] == (late and set(clauses.values()) == {"true"})
    assert said.again() == []


@pytest.mark.parametrize("word", CAUTION)
def test_a_verdict_s_words(word: str) -> None:
    """Accept/pass true, reject/fail false, error unknown."""
    assert play(run("tests"), verdict("tests", word)).last()["status"] == SAID[CAUTION[word]]


@pytest.mark.parametrize(("one", "other"), list(product(CAUTION, repeat=2)))
def test_at_the_very_same_instant_the_more_cautious_verdict_counts(one: str, other: str) -> None:
    """Reject/fail, then error, then accept/pass, whichever comes first."""
    said = play(run("tests"), verdict("tests", one, id="a"), verdict("tests", other, id="b"))
    assert said.last()["status"] == SAID[min(CAUTION[one], CAUTION[other])]


@pytest.mark.parametrize("later", CAUTION)
@pytest.mark.parametrize("earlier", CAUTION)
def test_the_latest_verdict_counts(earlier: str, later: str) -> None:
    """By `observed_at`, not by arrival; an earlier one does not matter, an `error` hides it too."""
    signals = [verdict("tests", earlier, FIRST), verdict("tests", later, SECOND)]
    assert play(run("tests"), *signals).last()["status"] == SAID[CAUTION[later]]
    assert play(run("tests"), *signals[::-1]).last()["status"] == SAID[CAUTION[later]]


def test_other_names_and_kinds_do_not_answer_for_a_required_verdict() -> None:
    """Names are compared exactly, code point by code point; a score or event of that name is no verdict."""
    given = [run("tests", "é"), verdict("Tests", "pass"), verdict("tests ", "pass"), verdict("e\u0301", "pass")]
    said = play(*given, score("tests", 1), event("tests"))
    assert said.answer() == ("unknown", ["missing:tests", "missing:é"])


def test_a_name_twice_counts_once() -> None:
    """In `requires`."""
    said = play(run("tests", "review", "tests"), verdict("review", "pass", id="r"))
    assert said.answer() == ("unknown", ["missing:tests"])
    assert said.then(verdict("tests", "fail", id="t")).answer() == ("rejected", ["failed:tests"])
    assert said.last()["used"] == ["t", "r"]


@pytest.mark.parametrize("requires", [[], None, ...])
def test_requires_absent_is_nothing_required(requires: Any) -> None:
    """A rule that requires nothing and has no score is unknown, `empty_rule`."""
    said = play(run(rule=rule(requires=requires)), verdict("tests", "fail"))
    assert said.answer() == ("unknown", ["empty_rule"])
    assert play(run(rule=rule(requires=requires, score=SPEED)), score("speed", 11)).answer() == ("accepted", [])


def test_an_excluded_event_rejects_even_an_empty_rule() -> None:
    """`empty_rule` never stands beside `late:`, and a rule with no clause never held, so nothing is reversed."""
    said = play(run(), event("revert"))
    assert said.answer() == ("rejected", ["late:revert"])
    assert not said.last()["reversed"]


def test_no_document_or_no_rule_is_unknown() -> None:
    """`no_run`, `no_rule`; whatever the signals say."""
    assert play(verdict("tests", "pass"), event("revert")).answer() == ("unknown", ["no_run"])
    said = play(run(rule=None), verdict("tests", "fail"), event("revert"))
    assert said.answer() == ("unknown", ["no_rule"])
    assert (said.last()["tier"], said.last()["used"], said.last()["late_events"]) == (None, [], [])


# --- the score -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("better", "value", "holds"),
    [
        ("higher", 10, True),
        ("higher", 9.999, False),
        ("higher", 11, True),
        ("lower", 10, True),
        ("lower", 10.001, False),
        ("lower", -5, True),
    ],
)
def test_the_score_reaches_its_target_or_not(better: str, value: float, holds: bool) -> None:
    """`higher` → value ≥ target, `lower` → value ≤ target."""
    said = play(run(rule=rule(score={**SPEED, "better": better})), score("speed", value))
    assert said.answer() == (("accepted", []) if holds else ("rejected", ["below_target:speed"]))


def test_the_rule_s_own_target_and_direction_decide() -> None:
    """Not the signal's."""
    given = score("speed", 12, target=100, better="lower", scale="log", unit="s")
    assert play(run(rule=rule(score=SPEED)), given).answer() == ("accepted", [])


def test_null_never_hides_a_number() -> None:
    """The latest *measured* value counts, before and after a null; only nulls are `unmeasured`, none is `missing`."""
    said = play(run(rule=rule(score=SPEED)))
    assert said.answer() == ("unknown", ["missing:speed"])
    assert said.then(score("speed", None, FIRST)).answer() == ("unknown", ["unmeasured:speed"])
    assert said.then(score("speed", 9, SECOND)).answer() == ("rejected", ["below_target:speed"])
    assert said.then(score("speed", None, THIRD)).answer() == ("rejected", ["below_target:speed"])
    assert said.then(score("speed", 11, THIRD)).answer() == ("accepted", [])
    assert said.then(score("speed", None, ENDED)).answer() == ("accepted", [])
    assert said.again() == []


@pytest.mark.parametrize(("better", "worse", "best"), [("higher", 9, 11), ("lower", 11, 9)])
def test_of_one_instant_the_worse_score_counts(better: str, worse: int, best: int) -> None:
    """In either order."""
    signals = [score("speed", worse, id="w"), score("speed", best, id="b")]
    for given in (signals, signals[::-1]):
        said = play(run(rule=rule(score={**SPEED, "better": better})), *given)
        assert said.answer() == ("rejected", ["below_target:speed"])
        assert said.last()["used"] == ["w"]


# --- reasons, tier, used, violations ---------------------------------------------------------------


def test_reasons_go_in_the_rule_s_order() -> None:
    """Verdicts as required, the score, then late events in the order of `excludes_events`, once each."""
    made = rule("c", "a", "b", score=SPEED, excludes_events=["outage", "revert", "outage", "hotfix"])
    given = [event("revert", id="1"), event("revert", id="2"), event("outage"), score("speed", 1), verdict("c", "fail")]
    said = play(run(rule=made), *given, verdict("b", "error"))
    expected = ["failed:c", "missing:a", "error:b", "below_target:speed", "late:outage", "late:revert"]
    assert said.answer() == ("rejected", expected)


TIERS = ("verified", "reported", "heuristic", "asserted")


@pytest.mark.parametrize(("one", "other"), list(product(TIERS, repeat=2)))
def test_the_tier_is_the_weakest_among_the_signals_used(one: str, other: str) -> None:
    """Verified is the strongest, asserted the weakest."""
    weakest = TIERS[max(TIERS.index(one), TIERS.index(other))]
    given = [run(rule=rule("tests", score=SPEED)), verdict("tests", "pass", tier=one)]
    assert play(*given, score("speed", 11, tier=other)).last()["tier"] == weakest
    assert play(*given, event("revert", tier=other)).last()["tier"] == weakest
    assert play(*given, verdict("tests", "accept", tier=other, id="2")).last()["tier"] == weakest


def test_what_did_not_decide_is_not_used() -> None:
    """Superseded verdicts, errors, nulls, names the rule does not ask for, events that do not count."""
    weak = {"tier": "asserted"}
    unused = [
        verdict("tests", "pass", FIRST, **weak),
        verdict("lint", "pass", **weak),
        score("speed", None, ENDED, **weak),
        score("speed", 9, FIRST, **weak),
        event("hotfix", **weak),
        event("revert", day(15), **weak),
    ]
    used = [verdict("tests", "pass", SECOND, id="t"), score("speed", 11, SECOND, id="s")]
    said = play(run("review", rule=rule("review", "tests", score=SPEED)), *unused, *used, verdict("review", "error"))
    assert said.answer() == ("unknown", ["error:review"])
    assert (said.last()["used"], said.last()["tier"]) == (["t", "s"], "verified")


def test_no_signal_used_has_no_tier() -> None:
    """Null, for an error is not used either."""
    assert play(run("tests"), verdict("tests", "error")).last()["tier"] is None


def test_of_several_at_one_instant_those_with_the_deciding_value_are_used() -> None:
    """By id; what they are used for goes in the rule's order, and late events last, by `observed_at` and id."""
    given = [
        event("revert", day(1), id="e3"),
        event("incident", day(1), id="e2"),
        event("revert", day(0.5), id="e9"),
        score("speed", 9, id="s2"),
        score("speed", 9.0, id="s1", tier="reported"),
        score("speed", 10, id="s0"),
        verdict("tests", "reject", id="t2"),
        verdict("tests", "fail", id="t1"),
        verdict("tests", "pass", id="t0", tier="asserted"),
        verdict("review", "pass", id="z"),
    ]
    said = play(run(rule=rule("review", "tests", score=SPEED)), *given)
    assert said.last()["used"] == ["z", "t1", "t2", "s1", "s2", "e9", "e2", "e3"]
    assert said.last()["tier"] == "reported"


@pytest.mark.parametrize(
    ("given", "violation"),
    [
        (score("tests", 1), "E195:requires:tests"),
        (event("tests"), "E195:requires:tests"),
        (verdict("speed", "pass"), "E195:score:speed"),
        (event("speed"), "E195:score:speed"),
    ],
)
def test_names_of_another_kind_are_reported_and_never_fatal(given: Given, violation: str) -> None:
    """What E195 says about several records together, wherever the signal came from and in whatever order."""
    good = [verdict("tests", "pass", BEFORE), score("speed", 11)]
    made = rule("tests", score=SPEED)
    for records in (
        [run(rule=made), *good, given],
        [given, *good, run(rule=made)],
        [run(rule=made, signals=inside(given)), *good],
    ):
        said = play(*records)
        assert said.answer() == ("accepted", [])
        assert said.last()["violations"] == [violation]
