"""The rule's clauses, and what signals make of them. Signals of one instant are judged together, later ones after them.

A clause takes its signals in the order of `observed_at` and keeps the spans of time in which it held; so a signal later
than all before it is one step more, and "the instant at which all clauses held" is where the spans meet.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from processor.state import SCORE, VERDICT, AtAttempt, Clause, Judged, Signal, Span

CAUTION: Final = {"reject": 0, "fail": 0, "error": 1, "accept": 2, "pass": 2}  # smaller counts at the same instant
HOLDS: Final[tuple[bool | None, ...]] = (False, None, True)
BY_TIME: Final = attrgetter("at")


def verdict_clause(name: str) -> Clause:
    """A name in `requires`: "the latest verdict by `observed_at` counts"."""
    return Clause(VERDICT + name, name, reason=f"missing:{name}")


def score_clause(name: str, target: float, better: str) -> Clause:
    """The rule's score: "the rule's own target and direction decide, not the signal's"."""
    return Clause(SCORE + name, name, target, better, reason=f"missing:{name}")


def judge(clause: Clause, signals: Sequence[Signal]) -> Clause:
    """The clause anew, from all the signals in its file."""
    clause = Clause(clause.file, clause.name, clause.target, clause.better, reason=f"missing:{clause.name}")
    for at, group in groupby(sorted(signals, key=BY_TIME), key=BY_TIME):
        clause = advance(clause, at, list(group))
    return clause


def advance(clause: Clause, at: int, signals: list[Signal]) -> Clause:
    """The clause after the signals of one instant, later than all that it has seen."""
    deciding = signals if len(signals) == 1 and signals[0].value is not None else most_cautious(clause, signals)
    if not deciding:  # "null never hides a number"
        missing = clause.reason is not None and clause.reason.startswith("missing:")
        return replace(clause, seen=at, reason=f"unmeasured:{clause.name}" if missing else clause.reason)
    first = deciding[0]
    holds = _holds(clause, first)
    spans = clause.spans
    if holds and not clause.holds:
        spans = [*spans, Span(at, None, _by(deciding))]
    elif clause.holds and not holds:
        spans = [*spans[:-1], Span(spans[-1].start, at, spans[-1].by)]
    if holds is None:
        used, tier = [], -1
    elif len(deciding) == 1:
        used, tier = [first.id], first.tier
    else:
        used, tier = sorted({s.id for s in deciding}), max(s.tier for s in deciding)
    return Clause(
        clause.file, clause.name, clause.target, clause.better, at, holds, _reason(clause, holds), used, tier, spans
    )


def _by(signals: list[Signal]) -> tuple[str, str] | None:
    """Which signal names the attempt: "of several at that instant, the smallest id that has one"."""
    named = [(signal.id, signal.attempt) for signal in signals if signal.attempt is not None]
    return min(named) if named else None


def _reason(clause: Clause, holds: bool | None) -> str | None:
    if holds:
        return None
    if holds is None:
        return f"error:{clause.name}"
    return f"below_target:{clause.name}" if clause.better else f"failed:{clause.name}"


def _holds(clause: Clause, signal: Signal) -> bool | None:
    if clause.better is None:
        return HOLDS[CAUTION[signal.value]]  # type: ignore[index]  # a verdict's value is one of these words
    if clause.better == "lower":
        return signal.value <= clause.target  # type: ignore[operator]  # numbers, both
    return signal.value >= clause.target  # type: ignore[operator]


def most_cautious(clause: Clause, signals: list[Signal]) -> list[Signal]:
    """Of one instant those that decide: "the more cautious counts"; of scores "the worse one"."""

    def caution(signal: Signal) -> float:
        if clause.better is None:
            return CAUTION[signal.value]  # type: ignore[index]
        return -signal.value if clause.better == "lower" else signal.value  # type: ignore[operator, return-value]

    measured = [signal for signal in signals if signal.value is not None]
    worst = min(map(caution, measured), default=None)
    return [signal for signal in measured if caution(signal) == worst]


def first_held(clauses: Sequence[Clause]) -> int | None:
    """The first instant "at which all verdict and score clauses held (a rule with neither never holds)"."""
    spans = [iter(clause.spans) for clause in clauses]
    current = [next(span, None) for span in spans]
    while current:
        starts = [span.start for span in current if span is not None]
        if len(starts) < len(current):
            return None
        at = max(starts)
        if all(span is not None and (span.end is None or span.end > at) for span in current):
            return at
        current = [
            next(rest, None) if span is not None and span.end is not None and span.end <= at else span
            for span, rest in zip(current, spans, strict=True)
        ]
    return None


def find_accepted_at(judged: Judged, attempts: Callable[[], Mapping[str, float]]) -> None:
    """Sets when the clauses first held, and "the `at_attempt` of the signal that completed it"."""
    at = judged.accepted_at = first_held(judged.clauses)
    judged.attempt = None
    if at is not None:
        completed = [span.by for clause in judged.clauses for span in clause.spans if span.start == at and span.by]
        if completed:
            attempt = min(completed)[1]
            judged.attempt = AtAttempt(attempt, attempts().get(attempt))
