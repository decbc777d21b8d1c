"""The rule of contract section 3, judged from scratch over a document and a set of signals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .documents import TIERS, Document, Rule, Signal, Target, is_number
from .instants import DAY, FIRST_PAST_9999

TRUE = {"accept", "pass"}
FALSE = {"reject", "fail"}


@dataclass(frozen=True)
class Clause:
    """What a clause says (true, false or unknown), why, and the signals that decided it."""

    holds: bool | None
    reason: str | None
    deciding: tuple[Signal, ...]


@dataclass
class Judgement:
    status: str = "unknown"
    reversed: bool = False
    reasons: list[str] = field(default_factory=list)
    tier: str | None = None
    used: list[str] = field(default_factory=list)
    late: list[Signal] = field(default_factory=list)
    accepted_at: int | None = None
    attempt: str | None = None
    violations: set[str] = field(default_factory=set)


def verdict_clause(name: str, signals: Iterable[Signal]) -> Clause:
    """The latest verdict by `observed_at` counts; at the same instant reject/fail, then error, then accept/pass."""
    named = [s for s in signals if s.kind == "verdict" and s.name == name]
    if not named:
        return Clause(None, f"missing:{name}", ())
    latest = [s for s in named if s.at == max(s.at for s in named)]
    failing = by_id(s for s in latest if s.value in FALSE)
    if failing:
        return Clause(False, f"failed:{name}", failing)
    if any(s.value == "error" for s in latest):
        return Clause(None, f"error:{name}", ())
    return Clause(True, None, by_id(s for s in latest if s.value in TRUE))


def score_clause(target: Target, signals: Iterable[Signal]) -> Clause:
    """The latest measured value counts (null never hides a number); at the same instant the worse one counts."""
    named = [s for s in signals if s.kind == "score" and s.name == target.name]
    measured = [s for s in named if is_number(s.value)]
    if not measured:
        return Clause(None, f"{'unmeasured' if named else 'missing'}:{target.name}", ())
    latest = [s for s in measured if s.at == max(s.at for s in measured)]
    worse: Callable[..., int | float] = min if target.better == "higher" else max
    value = worse(s.value for s in latest)
    holds = value >= target.target if target.better == "higher" else value <= target.target
    deciding = by_id(s for s in latest if s.value == value)
    return Clause(holds, None if holds else f"below_target:{target.name}", deciding)


def by_id(signals: Iterable[Signal]) -> tuple[Signal, ...]:
    return tuple(sorted(signals, key=lambda s: s.id))


def clauses(rule: Rule, signals: Iterable[Signal]) -> list[Clause]:
    """A name twice counts once; verdicts in the order of `requires`, then the score."""
    signals = list(signals)
    judged = [verdict_clause(name, signals) for name in dict.fromkeys(rule.requires)]
    if rule.score is not None:
        judged.append(score_clause(rule.score, signals))
    return judged


def window_end(document: Document) -> int | None:
    """The last instant of the window: none without an end or a rule, none when it is past the year 9999 (for ever)."""
    if document.ended_at is None or document.rule is None:
        return None
    end = document.ended_at + document.rule.window_days * DAY
    return None if end >= FIRST_PAST_9999 else end


def late_events(document: Document, signals: Iterable[Signal]) -> list[Signal]:
    """Excluded events with observed_at - ended_at <= window (inclusive, no lower bound); each one without an end."""
    assert document.rule is not None
    end = window_end(document)
    excluded = (s for s in signals if s.kind == "event" and s.name in document.rule.excludes_events)
    return sorted((s for s in excluded if end is None or s.at <= end), key=lambda s: (s.at, s.id, s.name, s.value))


def first_held(rule: Rule, signals: set[Signal]) -> tuple[int | None, str | None]:
    """The first instant at which all verdict and score clauses held, and the attempt of what completed it."""
    before = [Clause(None, None, ()) for _ in clauses(rule, [])]
    if not before:
        return None, None  # a rule with neither never holds
    for at in sorted({s.at for s in signals if s.kind != "event"}):
        now = clauses(rule, [s for s in signals if s.at <= at])
        if all(clause.holds is True for clause in now):
            # the deciding signals that made their clause begin to hold at exactly accepted_at
            completing = [
                s for was, is_ in zip(before, now, strict=True) if was.holds is not True for s in is_.deciding
            ]
            # of several at that instant, the smallest id that has one
            given = sorted((s.id, s.at_attempt) for s in completing if s.at_attempt is not None)
            return at, (given[0][1] if given else None)
        before = now
    return None, None


def violations(rule: Rule | None, signals: set[Signal]) -> set[str]:
    """What E195 says about several records together, and ids that two different signals share."""
    counted = Counter(s.id for s in signals)
    found = {f"repeated_id:{id_}" for id_, times in counted.items() if times > 1}
    if rule is not None:
        for name in rule.requires:
            if any(s.name == name and s.kind in ("score", "event") for s in signals):
                found.add(f"E195:requires:{name}")
        score = None if rule.score is None else rule.score.name
        if any(s.name == score and s.kind in ("verdict", "event") for s in signals):
            found.add(f"E195:score:{score}")
    return found


def judge(document: Document | None, signals: set[Signal]) -> Judgement:
    """The Kleene AND of the clauses, and everything an acceptance says of it."""
    rule = None if document is None else document.rule
    judgement = Judgement(violations=violations(rule, signals))
    if document is None or rule is None:
        judgement.reasons = ["no_run" if document is None else "no_rule"]
        return judgement
    judged = clauses(rule, signals)
    late = late_events(document, signals)
    judgement.late = late
    judgement.reasons = [clause.reason for clause in judged if clause.reason is not None]
    late_names = {s.name for s in late}
    judgement.reasons += [f"late:{n}" for n in dict.fromkeys(rule.excludes_events) if n in late_names]
    if late or any(clause.holds is False for clause in judged):
        judgement.status = "rejected"
    elif not judged:
        judgement.reasons = ["empty_rule"]  # requires nothing and has no score, and no excluded event rejects it
    elif all(clause.holds is True for clause in judged):
        judgement.status = "accepted"
    deciding = [s for clause in judged for s in clause.deciding] + late
    judgement.used = list(dict.fromkeys(s.id for s in deciding))
    judgement.tier = max((s.tier for s in deciding), key=TIERS.index, default=None)
    judgement.accepted_at, judgement.attempt = first_held(rule, signals)
    # a late event counts and the run had been accepted
    judgement.reversed = bool(late) and judgement.accepted_at is not None
    return judgement
