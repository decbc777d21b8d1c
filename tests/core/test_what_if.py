"""The same runs under another rule: as if they had been recorded with it."""

from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from processor.instants import instant
from processor.state import open_run
from processor.what_if import Choice, Outcome, under
from tests.core.given import RUN, SHA, Given, commit_event, day, document, event, play, raw, rule, run, score, verdict
from topics.runs import AcceptanceRule

SIGNALS = st.lists(
    st.one_of(
        st.builds(
            lambda name, value, at: verdict(name, value, day(at)),
            st.sampled_from(["tests", "review"]),
            st.sampled_from(["pass", "fail", "error"]),
            st.integers(-3, 3),
        ),
        st.builds(
            lambda value, at: score("speed", value, day(at)), st.sampled_from([None, 1, 2.5, 4]), st.integers(-3, 3)
        ),
        st.builds(lambda name, at: event(name, day(at)), st.sampled_from(["revert", "incident"]), st.integers(0, 30)),
        st.builds(lambda at: commit_event(SHA, at=day(at)), st.integers(0, 30)),
    ),
    max_size=8,
)
RULES = st.builds(
    lambda requires, target, events, days: rule(*requires, score=target, excludes_events=events, window_days=days),
    st.lists(st.sampled_from(["tests", "review"]), unique=True),
    st.sampled_from([..., {"name": "speed", "target": 2, "better": "lower"}]),
    st.sampled_from([..., [], ["revert"], ["incident", "revert"]]),
    st.sampled_from([..., 0, 7, 30]),
)


def row(*given: Given, of: str = RUN) -> Any:
    """The run after these records."""
    return open_run(of, play(*given)._replay.tables["runs"].rows[of.encode()])  # type: ignore[attr-defined]


@settings(deadline=None, max_examples=200)
@drawn(SIGNALS, st.one_of(st.none(), RULES), RULES)
def test_it_is_as_if_the_run_had_been_recorded_so(signals: list[Given], old: Any, new: Any) -> None:
    """The answer is that of the same inputs with the other rule in the document."""

    def recorded(with_rule: Any) -> Given:
        return raw("runs", RUN, document(rule=with_rule, commits=[SHA]))

    answer = under(row(recorded(old), *signals), AcceptanceRule.model_validate(new))
    last = play(recorded(new), *signals).last()
    assert (answer.status, answer.reversed, answer.reasons) == (last["status"], last["reversed"], last["reasons"])
    assert answer.used == last["used"]


def outcome(choice: Choice, new: Any, *runs: Any) -> Outcome:
    """What another rule makes of these runs."""
    found = Outcome()
    for one in runs:
        found.take(one, choice, AcceptanceRule.model_validate(new))
    return found


def test_flips_and_alerts_are_counted() -> None:
    """A longer window finds a revert that the rule's own did not."""
    late = row(run("tests"), verdict("tests", "pass"), event("revert", day(20)))
    fine = row(run("tests", of="run_2"), verdict("tests", "pass", of="run_2"), of="run_2")
    bare = row(verdict("tests", "pass", of="run_3"), of="run_3")
    found = outcome(Choice(), rule("tests", window_days=30), late, fine, bare)
    assert (found.runs, found.without_document, found.alerts_now, found.alerts_then) == (2, 1, 0, 1)
    assert [(f["run_id"], f["from"], f["to"], f["reasons"]) for f in found.flips] == [
        (RUN, "accepted", "rejected", ["late:revert"])
    ]


@pytest.mark.parametrize(
    ("choice", "taken"),
    [
        (Choice(), 1),
        (Choice(instant(day(0))), 1),
        (Choice(instant(day(1))), 0),
        (Choice(labels={"team": "a"}), 1),
        (Choice(labels={"team": "b"}), 0),
        (Choice(labels={"team": "a", "x": ""}), 0),
    ],
)
def test_which_runs(choice: Choice, taken: int) -> None:
    """By their end and their labels."""
    one = row(run("tests", labels={"team": "a"}))
    assert outcome(choice, rule("tests"), one).runs == taken
