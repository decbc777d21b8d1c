"""Why a run is what it is, from its state."""

from typing import Any

import pytest

from processor.explain import explain
from processor.instants import instant
from processor.state import open_run
from tests.core.given import (
    ENDED,
    RUN,
    SHA,
    Given,
    commit_event,
    day,
    document,
    event,
    inside,
    play,
    raw,
    rule,
    run,
    score,
    verdict,
)


def explained(*given: Given, as_of: str | None = None) -> dict[str, Any]:
    """What is said of the run after these records."""
    row = play(*given)._replay.tables["runs"].rows[RUN.encode()]  # type: ignore[attr-defined]
    return explain(open_run(RUN, row), None if as_of is None else instant(as_of))


def test_each_clause_has_what_decides_it() -> None:
    """The latest verdict, the worse score; what is missing has none."""
    rules = rule("tests", "review", score={"name": "speed", "target": 2, "better": "lower"})
    found = explained(
        run(rule=rules),
        verdict("tests", "fail", day(-2), id="a"),
        verdict("tests", "pass", day(-1), id="b", source={"kind": "ci", "ref": "x"}, at_attempt="t1"),
        score("speed", 1.5, day(-1), id="c"),
        score("speed", None, day(0), id="d"),
    )
    tests, review, speed = found["clauses"]
    assert (tests["holds"], tests["signals"], [s["id"] for s in tests["decided_by"]]) == (True, 2, ["b"])
    assert tests["decided_by"][0] == {
        "id": "b",
        "value": "pass",
        "observed_at": day(-1),
        "tier": "verified",
        "source": {"kind": "ci", "ref": "x"},
        "at_attempt": "t1",
    }
    assert (review["holds"], review["reason"], review["decided_by"]) == (None, "missing:review", [])
    assert (speed["holds"], speed["target"], [s["id"] for s in speed["decided_by"]]) == (True, 2, ["c"])


def test_at_one_instant_the_more_cautious_decide() -> None:
    """All of them are named."""
    (clause,) = explained(
        run("tests"),
        verdict("tests", "pass", id="a"),
        verdict("tests", "fail", id="c"),
        verdict("tests", "fail", id="b", tier="reported"),
    )["clauses"]
    assert (clause["holds"], [s["id"] for s in clause["decided_by"]]) == (False, ["b", "c"])


def test_late_events_with_their_distance_from_the_edge() -> None:
    """Also those that do not count: after the window, or of a commit that is not clear."""
    found = explained(
        run(rule=rule("tests"), of=RUN),
        raw("runs", RUN, document(rule=rule("tests"), commits=[SHA, "beef" + "0" * 35 + "1"])),
        raw("runs", "run_2", document(of="run_2", commits=["beef" + "0" * 35 + "2"])),
        verdict("tests", "pass"),
        commit_event(SHA[:10], at=day(1.97), id="a"),
        event("incident", day(20), id="b"),
        commit_event("beef000", at=day(3), id="c"),
        event("hotfix", day(1), id="not excluded"),
    )
    late = {e["id"]: e for e in found["late_events"]}
    assert {id_: (e["counts"], e["ambiguous"]) for id_, e in late.items()} == {
        "a": (True, False),
        "b": (False, False),
        "c": (False, True),
    }
    assert (late["a"]["days_after_end"], late["a"]["days_before_close"]) == (1.97, 12.03)
    assert (late["a"]["commit"], late["a"]["match"]) == (SHA, "prefix")
    assert late["b"]["days_before_close"] == -6
    assert (found["status"], found["reversed"], found["violations"]) == ("rejected", True, ["ambiguous_commit:c"])


@pytest.mark.parametrize(
    ("as_of", "status", "reasons"),
    [
        (day(-3), "unknown", ["missing:tests"]),
        (day(-2), "rejected", ["failed:tests"]),
        (day(0), "accepted", []),
        (day(1), "rejected", ["late:revert"]),
    ],
)
def test_as_of(as_of: str, status: str, reasons: list[str]) -> None:
    """What was observed by then, wherever it came in: on `signals`, inside the document, by a commit."""
    doc = document(rule=rule("tests"), commits=[SHA], signals=inside(verdict("tests", "fail", day(-2))))
    given = raw("runs", RUN, doc), verdict("tests", "pass", day(-1)), commit_event(SHA, at=day(1))
    found = explained(*given, as_of=as_of)
    assert (found["status"], found["reasons"], found["as_of"]) == (status, reasons, as_of)


def test_it_agrees_with_the_acceptance() -> None:
    """The members that both have are equal."""
    given = [run("tests"), verdict("tests", "pass", at_attempt="x"), event("revert", day(1))]
    found, last = explained(*given), play(*given).last()
    both = found.keys() & last.keys() - {"late_events"}
    assert {name: found[name] for name in both} == {name: last[name] for name in both}
    assert found["ended_at"] == ENDED
