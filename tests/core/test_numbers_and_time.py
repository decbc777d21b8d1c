"""Numbers are exact integers or doubles, instants are integers of nanoseconds; neither rounds an answer."""

from typing import Any

import orjson
import pytest

from tests.core.given import RUN, day, document, event, inside, play, raw, rule, run, score, verdict

TOLD = {"name": "n", "target": 0, "better": "higher"}


def measured(literal: str, target: str, better: str) -> str:
    """The status of a run whose score and target are written like this."""
    made = orjson.dumps(document(rule=rule(score={**TOLD, "target": "@", "better": better}))).decode()
    value = orjson.dumps(inside(score("n", 0))[0] | {"value": "@"}).decode()
    given = [
        raw("runs", RUN, made.replace('"@"', target).encode()),
        raw("signals", RUN, value.replace('"@"', literal).encode()),
    ]
    said = play(*given)
    assert said.codes() == []
    return str(said.last()["status"])


@pytest.mark.parametrize(
    ("value", "target", "higher", "lower"),
    [
        ("9007199254740993", "9007199254740992", True, False),
        ("9007199254740992", "9007199254740993", False, True),
        ("9007199254740993", "9007199254740992.0", True, False),
        ("18446744073709551615", "18446744073709551614", True, False),
        ("18446744073709551616", "18446744073709551615", True, False),
        ("-9223372036854775808", "-9223372036854775807", False, True),
        ("123456789012345678901234567890", "123456789012345678901234567891", True, True),
        ("0.1", "0.1000000000000000055511151231257827", True, True),
        ("5e-324", "0", True, False),
        ("1e-400", "0", True, True),
        ("-0.0", "0", True, True),
        ("1E+2", "100", True, True),
        ("1.7976931348623157e308", "1e308", True, False),
    ],
)
def test_a_number_is_an_exact_integer_or_a_double(value: str, target: str, higher: bool, lower: bool) -> None:
    """Integers of up to 64 bits are exact, others are what an IEEE double makes of them."""
    said = {True: "accepted", False: "rejected"}
    assert (measured(value, target, "higher"), measured(value, target, "lower")) == (said[higher], said[lower])


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e309", "9" * 400])
@pytest.mark.parametrize("where", ["value", "target", "ext"])
def test_what_is_not_finite_as_a_double_is_refused(literal: str, where: str) -> None:
    """Anywhere in the record."""
    value = orjson.dumps(inside(score("n", 0))[0] | {where: "@"}).decode().replace('"@"', literal)
    assert play(raw("signals", RUN, value.encode())).codes() == ["bad_json"]


@pytest.mark.parametrize("wrong", [True, False, "1", [], {}])
def test_booleans_are_no_numbers(wrong: Any) -> None:
    """And neither is a text."""
    for field in ("value", "target"):
        codes = play(raw("signals", RUN, inside(score("n", 0))[0] | {field: wrong})).codes()
        assert codes == (["E195"] if (field, wrong) == ("value", "1") else ["schema"])
    assert play(run(rule=rule(score={**TOLD, "target": wrong}))).codes() == ["schema"]
    assert play(run(rule=rule(window_days=wrong))).codes() == ["schema"]


@pytest.mark.parametrize(("window_days", "shown"), [(14.0, 14), (0.0, 0), (1e3, 1000)])
def test_a_whole_double_is_an_integer(window_days: float, shown: int) -> None:
    """As JSON Schema has it; shown as one."""
    found = play(run(rule=rule(window_days=window_days))).last()["rule"]["window_days"]
    assert (found, type(found)) == (shown, int)


@pytest.mark.parametrize(
    ("value", "scale", "codes"),
    [
        (0, "fraction", []),
        (1, "fraction", []),
        (1.5, "fraction", ["E195"]),
        (-0.1, "fraction", ["E195"]),
        (7, "log", []),
    ],
)
def test_a_fraction_lies_between_0_and_1(value: float, scale: str, codes: list[str]) -> None:
    """A score's value and a rule's target; null is not measured yet; the signal's own target is not looked at."""
    assert play(score("n", value, scale=scale, target=95)).codes() == codes
    assert play(run(rule=rule(score={**TOLD, "target": value, "scale": scale}))).codes() == codes
    assert play(score("n", None, scale=scale)).codes() == []


# --- time ------------------------------------------------------------------------------------------

IN_UTC = [
    ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
    ("2026-03-01T12:00:00.000000000Z", "2026-03-01T12:00:00Z"),
    ("2026-03-01T12:00:00.120Z", "2026-03-01T12:00:00.12Z"),
    ("2026-03-01T12:00:00.123456789987654321Z", "2026-03-01T12:00:00.123456789Z"),
    ("2026-03-01T12:00:00.9999999999Z", "2026-03-01T12:00:00.999999999Z"),
    ("2026-03-01T12:00:00+05:30", "2026-03-01T06:30:00Z"),
    ("2026-03-01T12:00:00-00:00", "2026-03-01T12:00:00Z"),
    ("2026-03-01T00:30:00+01:00", "2026-02-28T23:30:00Z"),
    ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z"),
    ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ("0001-01-01T00:00:00+14:00", "0001-01-01T09:59:00+23:59"),
    ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ("9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59-23:59"),
    ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    ("2017-01-01T05:29:60.5+05:30", "2017-01-01T00:00:00.5Z"),
    ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00Z"),
    ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00Z"),
]


@pytest.mark.parametrize(("text", "shown"), IN_UTC)
def test_an_instant_is_shown_in_utc(text: str, shown: str) -> None:
    """With `Z` and no trailing zeros; digits past the ninth are cut; `:60` is the second after it."""
    said = play(run("tests", ended_at=text), verdict("tests", "pass", text))
    assert (said.last()["ended_at"], said.last()["accepted_at"]) == (shown, shown)
    assert said.changes()[-1]["cause"]["signal"]["observed_at"] == shown
    assert dict(said.outputs[-1].headers)["ce_time"] == shown.encode()


def test_what_is_shown_is_the_same_instant() -> None:
    """Put in again it is the same signal, and says nothing."""
    for text, shown in IN_UTC:
        given = [verdict("tests", "pass", at, id="x") for at in (text, shown)]
        assert play(*given).last()["violations"] == []


NO_TIMES = [
    "2026-03-01",
    "2026-03-01T12:00Z",
    "2026-03-01T12:00:00",
    "2026-03-01T12:00:00z",
    "2026-03-01t12:00:00Z",
    "2026-03-01 12:00:00Z",
    "2026-03-01T12:00:00.Z",
    "2026-03-01T12:00:00,5Z",
    "2026-03-01T12:00:00+0100",
    "2026-03-01T12:00:00+01:60",
    "2026-03-01T12:00:00+24:00",
    "2026-03-01T12:00:00Z\n",
    " 2026-03-01T12:00:00Z",
    "2026-02-29T12:00:00Z",
    "1900-02-29T12:00:00Z",
    "2026-04-31T12:00:00Z",
    "2026-13-01T12:00:00Z",
    "2026-00-01T12:00:00Z",
    "2026-01-00T12:00:00Z",
    "0000-01-01T12:00:00Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T12:60:00Z",
    "2026-03-01T12:00:60Z",
    "2016-12-31T23:59:60+01:00",
    "2016-12-31T23:59:61Z",
    "٢٠٢٦-03-01T12:00:00Z",
    "2026-03-01T12:00:00.５Z",
    "",
]


@pytest.mark.parametrize("text", NO_TIMES)
def test_the_schema_s_pattern_in_ascii_and_a_real_day_and_time(text: str) -> None:
    """Or it is `bad_timestamp`, of a signal, an event or a run's end."""
    given = [verdict("tests", "pass", text), event("revert", text), run("tests", ended_at=text)]
    given.append(raw("commit-events", "abcdef1", inside(event("revert", text))[0]))
    assert play(*given).codes() == ["bad_timestamp"] * 4


def test_a_nanosecond_later_is_later() -> None:
    """What is the latest verdict, and whether it is inside the window."""
    given = [verdict("tests", "fail", day(-1, ns=1)), verdict("tests", "pass", day(-1, ns=2))]
    assert play(run("tests"), *given[::-1]).last()["status"] == "accepted"
    assert play(run("tests"), *given).last()["accepted_at"] == day(-1, ns=2)


def test_digits_past_the_ninth_are_cut() -> None:
    """They are not later: it is one instant, and the more cautious verdict counts."""
    given = [
        verdict("tests", "fail", "2026-03-01T11:00:00.0000000001Z"),
        verdict("tests", "pass", "2026-03-01T11:00:00.0000000009Z"),
    ]
    assert play(run("tests"), *given).last()["status"] == "rejected"


def test_one_instant_in_two_time_zones_is_one() -> None:
    """The text does not matter."""
    given = [
        verdict("tests", "fail", "2026-03-01T06:30:00-05:30"),
        verdict("tests", "pass", "2026-03-01T21:00:00+09:00"),
    ]
    assert play(run("tests"), *given).last()["status"] == "rejected"


def test_the_records_own_time_decides_nothing() -> None:
    """Kafka's timestamps are shown, and not used."""
    early, late = verdict("tests", "pass", day(-1)), verdict("tests", "fail", day(-2))
    said = play(run("tests"), early._replace(timestamp=1), late._replace(timestamp=2**40))
    assert said.last()["status"] == "accepted"
    assert play(run("tests"), early._replace(timestamp=-1)).last()["cause"]["recorded_at"] == "1969-12-31T23:59:59.999Z"
    assert play(early._replace(timestamp=10**18)).last()["cause"]["recorded_at"] is None


def test_events_dated_after_now_count() -> None:
    """There is no now."""
    said = play(run("tests", ended_at="2999-01-01T00:00:00Z"), verdict("tests", "pass", "2998-01-01T00:00:00Z"))
    assert said.then(event("revert", "2999-01-02T00:00:00Z")).alerts() == [True]
