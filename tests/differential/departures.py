"""Where the product departs from the reference reader: one predicate on the document for each, and what it may change.

The list is the contract's. A document in which none applies is one on which both must agree in everything.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.differential.reference import ASPECTS, NOW
from tests.oracle.instants import instant
from tests.oracle.records import Refused

JSON = dict[str, Any]
WORDS = ("accept", "reject", "pass", "fail", "error")
REASONS = ("reasons",)


def signals_of(document: JSON, kind: str) -> list[JSON]:
    return [signal for signal in document["run"].get("signals") or [] if signal["kind"] == kind]


def rule_of(document: JSON) -> JSON:
    return document["run"].get("acceptance_rule") or {}


def instant_of(text: str | None) -> int | None:
    """In nanoseconds; None for what is no time."""
    try:
        return None if text is None else instant(text)
    except Refused:
        return None


def deciding(document: JSON) -> Iterator[list[JSON]]:
    """For each verdict and score clause the signals of the latest instant."""
    rule = rule_of(document)
    score = (rule.get("score") or {}).get("name")
    groups = [[s for s in signals_of(document, "verdict") if s["name"] == name] for name in rule.get("requires") or ()]
    groups.append([s for s in signals_of(document, "score") if s["name"] == score and s["value"] is not None])
    for group in groups:
        latest = max((instant_of(s["observed_at"]) or 0 for s in group), default=0)
        yield [s for s in group if instant_of(s["observed_at"]) == latest]


def excluded(document: JSON) -> list[JSON]:
    names = rule_of(document).get("excludes_events") or ("revert", "incident")
    return [signal for signal in signals_of(document, "event") if signal["name"] in names]


def timestamps(document: JSON) -> list[str]:
    found = [signal["observed_at"] for signal in document["run"].get("signals") or []]
    return [text for text in (*found, document["run"].get("ended_at")) if text is not None]


def numbers(document: JSON) -> list[float]:
    target = (rule_of(document).get("score") or {}).get("target")
    return [n for n in (target, *(s["value"] for s in signals_of(document, "score"))) if n is not None]


# --- what the rule says ----------------------------------------------------------------------------


def window_days_0(document: JSON) -> bool:
    """`window_days: 0` is no window there, and 14 days."""
    return rule_of(document).get("window_days") == 0


def excludes_events_empty(document: JSON) -> bool:
    """`excludes_events: []` is read as absent there."""
    return rule_of(document).get("excludes_events") == []


def requires_absent(document: JSON) -> bool:
    """A rule that says nothing of verdicts requires `tests` there."""
    return bool(rule_of(document)) and rule_of(document).get("requires") is None


def no_rule(document: JSON) -> bool:
    """A run without a rule is judged by a default one there."""
    return document["run"].get("acceptance_rule") is None


def empty_name(document: JSON) -> bool:
    """A rule, or a rule's score, whose name is empty is none there."""
    rule = rule_of(document)
    return "" in (rule.get("name"), (rule.get("score") or {}).get("name"))


def huge(document: JSON) -> bool:
    """Windows and numbers that are too large for Python's timedelta and float raise there."""
    days = rule_of(document).get("window_days") or 0
    return days > 999_999_999 or any(abs(number) >= 2**1024 for number in numbers(document))


def integer_past_2_53(document: JSON) -> bool:
    """All numbers are doubles there."""
    return any(isinstance(number, int) and abs(number) > 2**53 for number in numbers(document))


# --- when it was -----------------------------------------------------------------------------------


def tie(document: JSON) -> bool:
    """Of one instant the last in the document counts there."""
    return any(signal != group[0] for group in deciding(document) for signal in group)


def repeated_event(document: JSON) -> bool:
    """A copy of a late event is another late event there."""
    found = excluded(document)
    return any(found.count(signal) > 1 for signal in found)


def nanoseconds(document: JSON) -> bool:
    """Digits past the sixth are cut there."""
    return any(re.search(r"\.[0-9]{6}[0-9]*[1-9]", text) for text in timestamps(document))


def no_calendar_has_it(document: JSON) -> bool:
    """Of a time that is none, and of a leap second, nothing is known there; an event then counts."""
    return any(instant_of(text) is None or text[17:19] == "60" for text in timestamps(document))


def after_now(document: JSON) -> bool:
    """An event dated after now waits there."""
    now = int(NOW.timestamp()) * 10**9
    return any((instant_of(signal["observed_at"]) or 0) > now for signal in excluded(document))


# --- who says it -----------------------------------------------------------------------------------


def shared(document: JSON) -> bool:
    """A share in `ext` overrides all signals there."""
    share = (document["run"].get("ext") or {}).get("dev.loopmath.share")
    return isinstance(share, dict) and ("z" in share or "q" in share)


def verdict_in_another_case(document: JSON) -> bool:
    """`PASS` passes there."""
    return any(s["value"] not in WORDS and s["value"].lower() in WORDS for s in signals_of(document, "verdict"))


# --- how it is said --------------------------------------------------------------------------------


def error_reason(document: JSON) -> bool:
    """`error:` is `missing:` there."""
    required = rule_of(document).get("requires") or ()
    return any(s["value"] == "error" and s["name"] in required for s in signals_of(document, "verdict"))


def unmeasured_reason(document: JSON) -> bool:
    """`unmeasured:` is `missing:` there."""
    name = (rule_of(document).get("score") or {}).get("name")
    found = [signal["value"] for signal in signals_of(document, "score") if signal["name"] == name]
    return bool(found) and all(value is None for value in found)


def empty_rule_reason(document: JSON) -> bool:
    """A rule with no clause gives no reason there."""
    rule = rule_of(document)
    return bool(rule) and not rule.get("requires") and rule.get("score") is None


def late_reasons(document: JSON) -> bool:
    """Each late event has its reason there, in the document's order."""
    return len({signal["id"] for signal in excluded(document)}) > 1


def required_twice(document: JSON) -> bool:
    """A name that is required twice has its reason twice there."""
    required = rule_of(document).get("requires") or []
    return len(required) != len(set(required))


def tier_null(document: JSON) -> bool:
    """Where no signal was used, it says asserted."""
    return not excluded_in_time(document) and not any(s["value"] != "error" for g in deciding(document) for s in g)


def excluded_in_time(document: JSON) -> list[JSON]:
    ended = instant_of(document["run"].get("ended_at"))
    window = 86_400 * 10**9 * (rule_of(document).get("window_days") or 14)
    return [s for s in excluded(document) if ended is None or (instant_of(s["observed_at"]) or 0) - ended <= window]


class Departure(NamedTuple):
    """`applies` is its name and says it; `changes` is what may differ."""

    applies: Callable[[JSON], bool]
    changes: tuple[str, ...] = ASPECTS


DEPARTURES = (
    Departure(window_days_0),
    Departure(excludes_events_empty),
    Departure(requires_absent),
    Departure(no_rule),
    Departure(empty_name),
    Departure(huge),
    Departure(integer_past_2_53),
    Departure(tie),
    Departure(repeated_event, REASONS),
    Departure(nanoseconds),
    Departure(no_calendar_has_it),
    Departure(after_now),
    Departure(shared),
    Departure(verdict_in_another_case),
    Departure(error_reason, REASONS),
    Departure(unmeasured_reason, REASONS),
    Departure(empty_rule_reason, REASONS),
    Departure(late_reasons, REASONS),
    Departure(required_twice, REASONS),
    Departure(tier_null, ("tier",)),
)
BY_NAME = {departure.applies.__name__: departure for departure in DEPARTURES}


def departures(document: JSON) -> list[str]:
    """The names of those that apply."""
    return [name for name, departure in BY_NAME.items() if departure.applies(document)]
