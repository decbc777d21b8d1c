"""What time makes useless goes; what somebody may still need stays."""

from typing import Any

import pytest

from processor.explain import explain
from processor.instants import NS, instant
from processor.record import ACCEPTANCE, COMMIT_EVENTS, RUNS
from processor.state import open_run
from processor.what_if import Choice, Outcome
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
from topics.runs import AcceptanceRule

A_DAY = 86_400
CLOSES = instant(day(14)) // NS
GOES = CLOSES + 91 * A_DAY
GONE = GOES + 91 * A_DAY
MS = 1_000


def closed(*given: Given) -> Played:
    """A run that was accepted, and its window closed."""
    return play(raw("runs", RUN, document(rule=rule("tests"), commits=[SHA])), verdict("tests", "pass"), *given).at(
        CLOSES
    )


def test_a_run_expires() -> None:
    """90 days after its window closed, its last answer says so once more, and no change is announced."""
    played = closed()
    answer = played.last()
    assert "expired" not in played.at(GOES - 2 * A_DAY).last()
    expired = played.at(GOES).last()
    assert expired["expired"] is True
    ticked = {"version": answer["version"] + 1, "cause": expired["cause"], "expired": True}
    assert expired == answer | ticked
    assert expired["cause"]["topic"] == "run-inputs"
    assert played.transitions() == ["accepted", "settled"]
    assert played.rows(COMMIT_EVENTS) == 0, "the index has its commits no more"


def test_a_stub_goes_without_a_word() -> None:
    """As long again after that; the last answer stays what it was."""
    played = closed().at(GOES)
    said = len(played.outputs)
    assert played.rows() == 1
    played.at(GONE)
    assert (played.rows(), len(played.outputs)) == (0, said)


def test_what_is_heard_of_stays() -> None:
    """An input after the window's close: the run stays as long from then on, and can still be reversed."""
    played = closed().at(GOES - 2 * A_DAY).then(verdict("tests", "pass")).at(GOES)
    assert "expired" not in played.last()
    played.then(commit_event(SHA, at=day(3)))
    assert played.alerts() == [True]
    played.at(GOES + A_DAY).at(GOES + 93 * A_DAY)
    assert played.last()["expired"] is True
    assert played.last()["reversed"] is True


def test_a_run_without_an_end_stays() -> None:
    """Its window never closes."""
    played = play(run("tests", ended_at=None), verdict("tests", "pass")).at(GONE + 1_000 * A_DAY)
    assert played.rows() == 1
    assert "expired" not in played.last()


@pytest.mark.parametrize("late", [verdict("tests", "fail"), event("revert", day(3)), run("tests")], ids=["v", "e", "d"])
def test_an_input_for_an_expired_run_is_set_aside(late: Given) -> None:
    """What it would come to cannot be said any more, so it says nothing, and is not lost."""
    played = closed().at(GOES)
    said = len(played.outputs)
    played.then(late)
    assert played.codes() == ["run_expired"]
    assert len(played.outputs) == said + 1
    letter = played.letters()[0]
    assert (letter.key, letter.value) == (late.key, late.value)


def test_explain_and_what_if_know_of_it() -> None:
    """What is left says what was announced, and that there is no more to say."""
    stub = open_run(RUN, closed().at(GOES)._replay.tables[RUNS].rows[RUN.encode()])  # type: ignore[attr-defined]
    found = explain(stub)
    assert (found["status"], found["expired"], found["clauses"]) == ("accepted", True, [])
    outcome = Outcome()
    outcome.take(stub, Choice(), AcceptanceRule.model_validate(rule("tests")))
    assert (outcome.runs, outcome.expired, outcome.without_document) == (0, 1, 0)


def test_bad_input_for_an_expired_run_is_bad() -> None:
    """The code says what is wrong with the record first."""
    played = closed().at(GOES).then(raw("signals", RUN, b"{"), raw("runs", RUN, b"[]"))
    assert played.codes() == ["bad_json", "schema"]


def test_an_expired_run_can_begin_anew() -> None:
    """After a null its counters go on, as the issue of a forgotten run does."""
    played = closed().at(GOES)
    version, seq = played.last()["version"], played.changes()[-1]["seq"]
    played.then(forget())
    assert played.last() is None
    assert played.transitions()[-1] == "withdrawn"
    played.then(run("tests"), verdict("tests", "pass"))
    assert played.transitions()[-1] == "accepted"
    assert (played.last()["version"], played.changes()[-1]["seq"]) == (version + 3, seq + 2)


def test_an_alert_of_an_expired_run_is_resolved_by_a_null() -> None:
    """It was reversed when it expired."""
    played = closed(event("revert", day(3))).at(GOES)
    assert played.alerts() == [True]
    assert played.then(forget()).alerts() == [True, False]


def test_a_commit_event_finds_no_expired_run() -> None:
    """It waits for a run that names its commit, as any other; the expired run is left alone."""
    played = closed().at(GOES)
    said = len(played.outputs)
    played.then(commit_event(SHA, at=day(3), timestamp=GOES * MS))
    assert len(played.outputs) == said
    assert played.rows(COMMIT_EVENTS) == 1


def test_signals_that_no_document_comes_for_go() -> None:
    """45 days after the tick that found them: a null in `acceptance`, and no row."""
    played = play(verdict("tests", "pass")).at(CLOSES).at(CLOSES + 44 * A_DAY)
    assert (played.rows(), played.last()["reasons"]) == (1, ["no_run"])
    played.at(CLOSES + 46 * A_DAY)
    assert (played.rows(), played.last()) == (0, None)
    assert played.transitions() == []
    assert played.then(run("tests")).last()["version"] == 1


def test_a_signal_more_keeps_those_before_it() -> None:
    """They are left alone from then on."""
    played = play(verdict("tests", "pass")).at(CLOSES).then(verdict("tests", "fail", id="more"))
    played.at(CLOSES + 46 * A_DAY).at(CLOSES + 60 * A_DAY)
    assert played.then(run("tests")).answer() == ("rejected", ["failed:tests"])


def test_a_forgotten_run_keeps_its_counters_for_a_while() -> None:
    """Signals that come after the null go first; the stub as long again as a run is kept."""
    played = play(run("tests"), verdict("tests", "pass"), forget(), verdict("tests", "pass", id="after"))
    played.at(CLOSES).at(CLOSES + 46 * A_DAY)
    assert (played.rows(), played.last()) == (1, None)
    counted = len(played.values(ACCEPTANCE))
    played.at(CLOSES + 130 * A_DAY)
    assert played.rows() == 1
    played.at(CLOSES + 138 * A_DAY)
    assert (played.rows(), len(played.values(ACCEPTANCE))) == (0, counted)


def test_a_commit_event_that_no_run_names_goes() -> None:
    """By record time, after 45 days."""
    played = play(commit_event(SHA, timestamp=CLOSES * MS), run("tests"))
    assert played.at(CLOSES + 44 * A_DAY).rows(COMMIT_EVENTS) == 1
    assert played.at(CLOSES + 46 * A_DAY).rows(COMMIT_EVENTS) == 0
    played.then(raw("runs", RUN, document(rule=rule("tests"), commits=[SHA])))
    assert "late:revert" not in played.last()["reasons"]


def test_a_commit_event_that_a_run_names_stays() -> None:
    """For as long as the run does, however long its window: left out of its document and named again, it counts."""
    named = raw("runs", RUN, document(rule=rule("tests", window_days=400), commits=[SHA]))
    played = play(named, commit_event(SHA, at=day(3), timestamp=CLOSES * MS))
    for days in (46, 92, 138, 380):
        played.at(CLOSES + days * A_DAY)
    assert played.rows(COMMIT_EVENTS) == 2
    bare = raw("runs", RUN, document(rule=rule("tests", window_days=400)))
    assert "late:revert" in played.then(bare, named).last()["reasons"]
    played.then(forget()).at(CLOSES + 500 * A_DAY)
    assert played.rows(COMMIT_EVENTS) == 0


def test_an_event_that_goes_makes_another_clear() -> None:
    """Of two commits that begin alike one is heard of no more: the short sha means the other one again."""
    named = raw("runs", RUN, document(rule=rule("tests"), commits=[SHA]))
    other = SHA[:12] + "f" * 28
    played = play(named, verdict("tests", "pass"), commit_event(other, timestamp=CLOSES * MS))
    played.then(commit_event(SHA[:12], at=day(1), timestamp=(CLOSES + A_DAY) * MS))
    assert played.last()["violations"]
    assert played.alerts() == []
    played.at(CLOSES + 46 * A_DAY)
    assert played.last()["violations"] == []
    assert played.alerts() == [True]


def test_memory_is_bounded_whatever_keys_are_sent() -> None:
    """Signals and nulls of runs that nobody records, events of commits that nobody makes, dated as they like."""
    ends_of_time = (0, CLOSES * MS, 253_402_300_799_000)
    junk = [
        given
        for n in range(300)
        for at in ends_of_time
        for given in (
            verdict("tests", "pass", of=f"junk-{n}-{at}")._replace(timestamp=at),
            forget(of=f"null-{n}-{at}")._replace(timestamp=at),
            commit_event(f"{n + 1:07x}", value=str(at), timestamp=min(at, CLOSES * MS)),
        )
    ]
    played = play(*junk)
    assert (played.rows(), played.rows(COMMIT_EVENTS)) == (1_800, 900)
    played.at(CLOSES).at(CLOSES + 46 * A_DAY)
    assert (played.rows(), played.rows(COMMIT_EVENTS)) == (900, 0)
    played.at(CLOSES + 91 * A_DAY)
    assert played.rows() == 0
    last: dict[bytes | None, Any] = {o.key: o.value for o in played.outputs if o.topic == ACCEPTANCE}
    assert set(last.values()) == {None}, "nothing of it stays in a compacted topic"


def test_what_a_tick_does_not_change_it_does_not_say() -> None:
    """A tick that only counts the days is in the row and nowhere else."""
    played = closed(verdict("tests", "pass", id="late"))
    said = len(played.outputs)
    played.then(verdict("tests", "pass")).at(CLOSES + 10)
    assert len(played.outputs) == said + 1
