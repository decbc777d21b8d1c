"""What is shown of a run, a signal and a cause (contract 5)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .commits import Cause, Run, matched
from .documents import Document, Rule, Signal
from .instants import DAY, shown
from .rule import judge, window_end

JSON = dict[str, Any]


def acceptance(run_id: str, run: Run) -> JSON:
    document = run.document
    commits = matched(run)
    direct = run.signals | (document.signals if document else frozenset())
    judgement = judge(document, direct | set(commits.clear))
    ambiguous = {f"ambiguous_commit:{id_}" for id_ in commits.ambiguous}
    closes_at = window_end(document) if document else None
    ended_at = document.ended_at if document else None
    late = []
    for signal in judgement.late:
        # both null for an event that came in `signals`
        commit, how = (None, None) if signal in direct else commits.clear[signal]
        days = None if ended_at is None else Fraction(signal.at - ended_at, DAY)
        late.append({**late_event(signal), "days_after_end": days, "commit": commit, "match": how})
    return {
        "run_id": run_id,
        "status": judgement.status,
        "reversed": judgement.reversed,
        "reasons": judgement.reasons,
        "tier": judgement.tier,
        "rule": shown_rule(document.rule) if document and document.rule else None,
        "title": document.title if document else None,
        "workspace": document.workspace if document else None,
        "labels": document.labels if document else None,
        "ended_at": None if ended_at is None else shown(ended_at),
        "window_closes_at": None if closes_at is None else shown(closes_at),
        "settled": False,
        "accepted_at": None if judgement.accepted_at is None else shown(judgement.accepted_at),
        "accepted_at_attempt": attempt(document, judgement.attempt),
        "used": judgement.used,
        "late_events": late,
        "violations": sorted(judgement.violations | ambiguous),
        "truncated": False,
    }


def attempt(document: Document | None, id_: str | None) -> JSON | None:
    """Its `number`: `attempts[].n`, else its place among that node's attempts, else null."""
    if document is None or id_ is None:
        return None
    number = None
    places: dict[str, int] = {}
    for name, node, n in document.attempts:
        places[node] = places.get(node, 0) + 1
        if name == id_:
            number = places[node] if n is None else n
            break
    return {"id": id_, "number": number}


def shown_rule(rule: Rule) -> JSON:
    score = rule.score
    return {
        "name": rule.name,
        "requires": list(rule.requires),
        "score": None
        if score is None
        else {"name": score.name, "target": score.target, "better": score.better, "scale": score.scale},
        "excludes_events": list(rule.excludes_events),
        "window_days": rule.window_days,
    }


def source(signal: Signal) -> JSON | None:
    return None if signal.source is None else {"kind": signal.source[0], "ref": signal.source[1]}


def late_event(signal: Signal) -> JSON:
    return {
        "id": signal.id,
        "name": signal.name,
        "value": signal.value,
        "source": source(signal),
        "observed_at": shown(signal.at),
        "tier": signal.tier,
    }


def whole_signal(signal: Signal | None) -> JSON | None:
    """What is shown of a signal is built from the fields of its identity only."""
    if signal is None:
        return None
    more = {name: getattr(signal, name) for name in ("kind", "unit", "better", "target", "scale", "at_attempt")}
    return {**late_event(signal), **more}


def coordinates(cause: Cause) -> JSON:
    recorded_at = None if cause.recorded_at is None else shown(cause.recorded_at)
    return {"topic": cause.topic, "partition": 0, "offset": cause.offset, "recorded_at": recorded_at}


def cloud(id_: str, word: str, run_id: str, cause: Cause) -> dict[str, str]:
    """CloudEvents 1.0 binary mode; `ce_time` the cause's observed_at or its record's timestamp, never the clock."""
    headers = {
        "ce_specversion": "1.0",
        "ce_id": id_,
        "ce_type": f"ocp.acceptance.{word}.v1",
        "ce_subject": run_id,
    }
    time = cause.signal.at if cause.signal else cause.recorded_at
    return headers if time is None else {**headers, "ce_time": shown(time)}
