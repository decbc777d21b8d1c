"""What is announced: each transition once, with its cause, its counters and its headers."""

from typing import Any

import pytest

from processor.record import ACCEPTANCE, CHANGED, REVERSED
from tests.core.given import (
    ENDED,
    SHA,
    Given,
    Played,
    commit_event,
    day,
    event,
    forget,
    inside,
    play,
    rule,
    run,
    verdict,
)

RUN_TESTS = run("tests")
PASS = verdict("tests", "pass", id="pass")
FAIL = verdict("tests", "fail", day(-0.02), id="fail")
PASS_AGAIN = verdict("tests", "pass", day(-0.01), id="again")
ERROR = verdict("tests", "error", day(-0.005), id="error")
REVERT = event("revert", day(1), id="revert")
REVERTED = run("tests", signals=inside(REVERT))

# (given, the last transition, from, to, reversed)
TRANSITIONS: list[tuple[list[Given], str | None, str, str, bool]] = [
    ([RUN_TESTS, PASS], "accepted", "unknown", "accepted", False),
    ([PASS, RUN_TESTS], "accepted", "unknown", "accepted", False),
    ([RUN_TESTS, FAIL], "rejected", "unknown", "rejected", False),
    ([RUN_TESTS, PASS, FAIL], "rejected", "accepted", "rejected", False),
    ([RUN_TESTS, REVERT], "rejected", "unknown", "rejected", False),
    ([RUN_TESTS, FAIL, PASS_AGAIN], "reinstated", "rejected", "accepted", False),
    ([REVERTED, PASS, RUN_TESTS], "reinstated", "rejected", "accepted", False),
    ([RUN_TESTS, PASS, ERROR], "withdrawn", "accepted", "unknown", False),
    ([RUN_TESTS, FAIL, ERROR], "withdrawn", "rejected", "unknown", False),
    ([RUN_TESTS, PASS, forget()], "withdrawn", "accepted", "unknown", False),
    ([RUN_TESTS, PASS, run("tests", "review")], "withdrawn", "accepted", "unknown", False),
    ([REVERTED, PASS, ERROR, RUN_TESTS], "withdrawn", "rejected", "unknown", False),
    ([RUN_TESTS, PASS, REVERT], "reversed", "accepted", "rejected", True),
    ([RUN_TESTS, REVERT, PASS], "reversed", "rejected", "rejected", True),
    ([RUN_TESTS, PASS, FAIL, REVERT], "reversed", "rejected", "rejected", True),
    ([RUN_TESTS, PASS, ERROR, REVERT], "reversed", "unknown", "rejected", True),
    ([REVERT, PASS, RUN_TESTS], "reversed", "unknown", "rejected", True),
    ([REVERTED, PASS, FAIL, RUN_TESTS], "cleared", "rejected", "rejected", False),
    ([RUN_TESTS, PASS, REVERT, run("review")], "cleared", "rejected", "rejected", False),
]


@pytest.mark.parametrize(("given", "transition", "before", "after", "is_reversed"), TRANSITIONS)
def test_each_row_of_the_table_of_transitions(
    given: list[Given], transition: str, before: str, after: str, is_reversed: bool
) -> None:
    """What happened, from the top: reversed; accepted or reinstated; rejected; withdrawn; cleared."""
    said = play(*given)
    change = said.changes()[-1]
    found = (change["transition"], change["from"], change["to"], change["status"], change["reversed"])
    assert found == (transition, before, after, after, is_reversed)
    assert said.outputs[-1].topic in (CHANGED, REVERSED)
    assert forget() in given or said.again() == []


def test_a_run_begins_as_unknown_and_nothing_is_announced_until_that_changes() -> None:
    """Documents and signals that leave it unknown lead to acceptances alone."""
    said = play(RUN_TESTS, ERROR, verdict("lint", "fail"), event("hotfix"), run("tests", "review"))
    assert [output.topic for output in said.outputs] == [ACCEPTANCE] * 5


def test_reasons_may_change_in_silence() -> None:
    """A second late event on a reversed run is an acceptance, and no news."""
    said = play(RUN_TESTS, PASS, REVERT, event("incident", day(2)))
    assert said.transitions() == ["accepted", "reversed"]
    assert said.answer() == ("rejected", ["late:revert", "late:incident"])


def test_the_alert_feed_is_every_flip_of_reversed() -> None:
    """The page and its resolution, the same record as on `acceptance-changed`, on whatever transition."""
    said = play(REVERTED, PASS, RUN_TESTS, REVERTED, FAIL, RUN_TESTS, REVERTED, forget())
    assert said.transitions() == [
        "rejected",
        "reversed",
        "reinstated",
        "reversed",
        "cleared",
        "reversed",
        "withdrawn",
    ]
    assert said.alerts() == [True, False, True, False, True, False]
    changes = said.changes()
    assert said.values(REVERSED) == [changes[place] for place in (1, 2, 3, 4, 5, 6)]


def test_seq_has_no_gap_and_from_is_the_previous_to() -> None:
    """Across a forgetting too; `version` counts every applied input."""
    said = play(RUN_TESTS, PASS, PASS, FAIL, forget(), forget(), RUN_TESTS, PASS)
    changes = said.changes()
    assert [change["seq"] for change in changes] == [1, 2, 3, 4]
    assert [change["version"] for change in changes] == [2, 4, 5, 8]
    assert [(c["from"], c["to"]) for c in changes] == [
        ("unknown", "accepted"),
        ("accepted", "rejected"),
        ("rejected", "unknown"),
        ("unknown", "accepted"),
    ]
    assert [v and v["version"] for v in said.values(ACCEPTANCE)] == [1, 2, 3, 4, None, None, 7, 8]


def test_a_bad_record_counts_for_nothing() -> None:
    """What is dead-lettered is not applied: `version` stays, offsets go on."""
    said = play(RUN_TESTS, verdict("tests", "PASS"), PASS)
    assert (said.last()["version"], said.last()["cause"]["offset"]) == (2, 1)


def test_an_id_is_the_run_the_seq_and_the_cause_s_coordinates() -> None:
    """`<run id>/<seq>/<topic>-<partition>-<offset of the cause>`: the same when the same input is applied again."""
    given = [run("tests", commits=[SHA]), PASS, FAIL, PASS_AGAIN, commit_event(SHA), run("tests")]
    expected = [
        "run_1/1/signals-0-0",
        "run_1/2/signals-0-1",
        "run_1/3/signals-0-2",
        "run_1/4/commit-events-0-0",
        "run_1/5/runs-0-1",
    ]
    assert [change["id"] for change in play(*given).changes()] == expected
    assert play(*given).outputs == play(*given).outputs


TIMED = Given("signals", b"run_1", PASS.value, 1_772_370_000_125)


def test_a_change_has_the_acceptance_and_a_whole_cause() -> None:
    """All of the acceptance; `kind` and the whole signal in `cause`, where the acceptance has the signal's id."""
    said = play(RUN_TESTS, TIMED)
    (change,) = said.changes()
    same = {name: value for name, value in change.items() if name in said.last() and name != "cause"}
    assert {**same, "cause": said.last()["cause"]} == said.last()
    coordinates = {"topic": "signals", "partition": 0, "offset": 0, "recorded_at": "2026-03-01T13:00:00.125Z"}
    assert said.last()["cause"] == {**coordinates, "signal": "pass"}
    assert change["cause"] == {**coordinates, "kind": "signal", "signal": inside(PASS)[0]}


def test_a_document_s_cause_has_no_signal() -> None:
    """`kind` is `run`."""
    (change,) = play(PASS, RUN_TESTS).changes()
    coordinates = {"topic": "runs", "partition": 0, "offset": 0, "recorded_at": None}
    assert change["cause"] == {**coordinates, "kind": "run", "signal": None}


def headers_of(said: Played, topic: str) -> dict[str, Any]:
    """Of the last record on the topic, each once."""
    headers = [output.headers for output in said.outputs if output.topic == topic][-1]
    assert len(dict(headers)) == len(headers)
    return {name: (text or b"").decode() for name, text in headers}


@pytest.mark.parametrize(
    ("topic", "word", "id_"),
    [
        (ACCEPTANCE, "evaluated", "run_1/v3"),
        (CHANGED, "changed", "run_1/2/signals-0-1"),
        (REVERSED, "reversed", "run_1/2/signals-0-1"),
    ],
)
def test_headers_are_cloud_events_in_binary_mode(topic: str, word: str, id_: str) -> None:
    """`ce_time` is the cause's observed_at; `transition` is on the changes and the alerts."""
    said = play(RUN_TESTS, TIMED, REVERT, application_id="shop")
    expected = {
        "content-type": "application/json",
        "ce_specversion": "1.0",
        "ce_id": id_,
        "ce_source": "/ocp-acceptance/shop",
        "ce_type": f"ocp.acceptance.{word}.v1",
        "ce_subject": "run_1",
        "ce_time": day(1),
    }
    assert headers_of(said, topic) == expected | ({} if topic == ACCEPTANCE else {"transition": "reversed"})


def test_the_time_of_a_document_is_its_record_s() -> None:
    """Never the clock: a record without a timestamp leads to no `ce_time`."""
    assert (
        headers_of(play(run("tests", timestamp=1_772_370_000_125)), ACCEPTANCE)["ce_time"] == "2026-03-01T13:00:00.125Z"
    )
    assert "ce_time" not in headers_of(play(RUN_TESTS), ACCEPTANCE)


def test_every_output_s_key_is_the_run_id() -> None:
    """As it came."""
    assert {output.key for output in play(run(of="rün"), forget("rün")).outputs} == {"rün".encode()}


def test_the_window_s_end_is_shown() -> None:
    """The end and `window_days` days of 24 hours; null where it never closes, `settled` is false while it is open."""
    for made, ends, closes in (
        (rule("tests"), "2026-03-01T13:00:00.50+01:00", "2026-03-15T12:00:00.5Z"),
        (rule("tests", window_days=0), ENDED, ENDED),
        (rule("tests"), None, None),
        (rule("tests", window_days=10**9), ENDED, None),
        (None, ENDED, None),
    ):
        last = play(run(rule=made, ended_at=ends)).last()
        assert (last["window_closes_at"], last["settled"]) == (closes, False)


def test_a_rule_s_fields_have_their_defaults_filled_in() -> None:
    """In what is shown."""
    shown = play(run(rule=rule(requires=..., score={"name": "s", "target": 1, "better": "lower"}))).last()["rule"]
    assert shown == {
        "name": "rule",
        "requires": [],
        "score": {"name": "s", "target": 1, "better": "lower", "scale": "linear"},
        "excludes_events": ["revert", "incident"],
        "window_days": 14,
    }
