"""Why a run is what it is: each clause with what decides it, the late events, what is missing. From its state alone."""

from collections.abc import Iterable
from itertools import groupby

from processor.acceptance import Answer, evaluate
from processor.evaluate import commits_of_events, judge, shown_event, shown_source, signals_of, unclear
from processor.instants import days, show
from processor.rule import BY_TIME, most_cautious
from processor.state import (
    EVENT,
    TIERS,
    Clause,
    Run,
    Signal,
    decode_file,
    decode_matches,
    decode_shown,
    encode,
)

Members = dict[str, object]


def explain(run: Run, as_of: int | None = None) -> Members:
    """The judgement and what it rests on, as JSON members. `as_of`: only what was observed by then, in nanoseconds
    since 1970; the document is the newest in either case. The run is changed by it."""
    if as_of is not None:
        _observed_by(run, as_of)
    row, shown, judged = run.row, decode_shown(run.row.shown), run.judged
    answer = Answer(row.status, row.reversed, [], [], -1) if row.expired else evaluate(run)
    return {
        "run_id": run.id,
        "as_of": None if as_of is None else show(as_of),
        "status": answer.status,
        "reversed": answer.reversed,
        "reasons": answer.reasons,
        "tier": TIERS[answer.tier] if answer.tier >= 0 else None,
        "title": shown.title,
        "workspace": shown.workspace,
        "labels": shown.labels,
        "rule": shown.rule,
        "ended_at": shown.ended_at,
        "window_closes_at": shown.window_closes_at,
        "clauses": [_clause(run, clause) for clause in judged.clauses],
        "late_events": _late_events(run),
        "accepted_at": None if judged.accepted_at is None else show(judged.accepted_at),
        "accepted_at_attempt": None
        if judged.attempt is None
        else {"id": judged.attempt.id, "number": judged.attempt.number},
        "violations": row.violations,
        "truncated": row.truncated,
        "expired": row.expired,
        "version": row.version,
    }


def _observed_by(run: Run, as_of: int) -> None:
    """Leaves out of the run what was observed later."""
    row = run.row
    for files in (row.files, row.embedded):
        for file, kept in files.items():
            files[file] = encode([signal for signal in decode_file(kept) if signal.at <= as_of])
    row.matches = encode([match for match in decode_matches(row.matches) if match.signal.at <= as_of])
    judge(run)


def _clause(run: Run, clause: Clause) -> Members:
    """A clause and the signals that decide it: "the latest verdict by `observed_at` counts", cautiously."""
    members: Members = {"file": clause.file, "holds": clause.holds, "reason": clause.reason}
    if clause.better is not None:
        members |= {"target": clause.target, "better": clause.better}
    signals = signals_of(run, clause.file)
    return members | {"signals": len(signals), "decided_by": [_signal(s) for s in _deciding(clause, signals)]}


def _deciding(clause: Clause, signals: Iterable[Signal]) -> list[Signal]:
    """Those of the latest instant at which there was something to go by."""
    for _, group in groupby(sorted(signals, key=BY_TIME, reverse=True), key=BY_TIME):
        if deciding := most_cautious(clause, list(group)):
            return sorted(deciding, key=lambda signal: signal.id)
    return []


def _signal(signal: Signal) -> Members:
    return {
        "id": signal.id,
        "value": signal.value,
        "observed_at": show(signal.at),
        "tier": TIERS[signal.tier],
        "source": shown_source(signal),
        "at_attempt": signal.attempt,
    }


def _late_events(run: Run) -> list[Members]:
    """Every event of a name that the rule excludes, also one that does not count, with its distance from the edge."""
    terms, matches = run.terms(), decode_matches(run.row.matches)
    found = {name: signals_of(run, EVENT + name, matches) for name in terms.excludes}
    commits = commits_of_events(run, found, matches)
    own = [(name, signal, False) for name, signals in found.items() for signal in signals]
    for file, signal in unclear(matches):
        name = file.removeprefix(EVENT)
        if name in found and signal not in found[name]:  # else it came in `signals` as well, and counts
            own.append((name, signal, True))
    return [
        {
            **shown_event(name, signal, terms, commits.get((name, signal))),
            "days_before_close": None if terms.closes is None else days(terms.closes - signal.at),
            "counts": not ambiguous and terms.window_has(signal.at),
            "ambiguous": ambiguous,
        }
        for name, signal, ambiguous in sorted(own, key=lambda event: (event[1].at, event[1].id))
    ]
