"""`diff`: what a run's state says now, and what is new about it, as the records that are published."""

from collections.abc import Mapping
from typing import Final

import orjson
from msgspec import Struct

from processor import record
from processor.evaluate import shown_source
from processor.instants import show, show_recorded
from processor.record import Output
from processor.state import TIERS, Late, Row, Run, Signal

TYPES: Final = {
    record.ACCEPTANCE: ("ce_type", b"ocp.acceptance.evaluated.v1"),
    record.CHANGED: ("ce_type", b"ocp.acceptance.changed.v1"),
    record.REVERSED: ("ce_type", b"ocp.acceptance.reversed.v1"),
}
JSON: Final = ("content-type", b"application/json")
SPEC: Final = ("ce_specversion", b"1.0")


class Origin(Struct, array_like=True, frozen=True, gc=False):
    """Where an input was read first; `timestamp` in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


class Cause(Struct, frozen=True, gc=False):
    """The input that was applied: a signal with its file, or a document, or a tick."""

    origin: Origin
    file: str | None = None
    signal: Signal | None = None
    tick: bool = False


class Answer(Struct, frozen=True, gc=False):
    """The judgement on a run."""

    status: str
    reversed: bool
    reasons: list[str]
    used: list[str]
    tier: int


def evaluate(run: Run) -> Answer:
    """`status` is "the Kleene AND of its clauses (one false → rejected; else one unknown → unknown; else accepted)"."""
    row, judged = run.row, run.judged
    late: Late = row.late
    reasons: list[str] = []
    used: list[str] = []
    tier = late.tier
    rejected, unknown = bool(late.reasons), row.unanswered is not None
    for clause in judged.clauses:
        if clause.reason is not None:
            reasons.append(clause.reason)
        if clause.holds is None:
            unknown = True
        else:
            rejected = rejected or not clause.holds
            used += clause.used
            if clause.tier > tier:
                tier = clause.tier
    if row.unanswered is not None and not rejected:  # "`empty_rule` never stands beside `late:`"
        reasons = [row.unanswered]
    return Answer(
        "rejected" if rejected else "unknown" if unknown else "accepted",
        rejected and bool(late.reasons) and judged.accepted_at is not None,
        reasons + late.reasons,
        list(dict.fromkeys(used + late.used)) if row.violations else used + late.used,  # an id may be repeated
        tier,
    )


def transition(old: str, was_reversed: bool, new: str, is_reversed: bool) -> str | None:
    """The contract's table, from the top; None when nothing is new."""
    if is_reversed and not was_reversed:
        return "reversed"
    if new != old:
        if new == "accepted":
            return "accepted" if old == "unknown" else "reinstated"
        return "rejected" if new == "rejected" else "withdrawn"
    return "cleared" if was_reversed and not is_reversed else None


def settlement(row: Row, known: bool) -> str | None:
    """The table's last line: "else, the window closed with the status known / was opened again by a newer document"."""
    if row.settled and known and not row.told_settled:
        return "settled"
    return "reopened" if row.told_settled and not row.settled else None


class Publisher:
    """Counts an applied input and says what it led to. `source` is CloudEvents' `ce_source`."""

    def __init__(self, source: str) -> None:
        self._source = ("ce_source", source.encode())

    def announce(self, run: Run, cause: Cause, *, forgotten: bool = False, expired: bool = False) -> list[Output]:
        """The run's acceptance, then the change and the alert if there is one. The run's counters go on."""
        row, key = run.row, run.id.encode()
        answer = evaluate(run)
        row.version += 1
        members = _members(run, answer, cause)
        if expired:
            members["expired"] = True
        headers = self._headers(key, cause)
        value = None if forgotten else _joined(members, row.shown)
        version = [("ce_id", b"%b/v%d" % (key, row.version)), TYPES[record.ACCEPTANCE], *headers]
        outputs = [Output(record.ACCEPTANCE, key, value, version)]
        known = answer.status != "unknown"
        kind = transition(row.status, row.reversed, answer.status, answer.reversed) or settlement(row, known)
        if kind is not None:
            id_, change = self._change(run, kind, answer, members, cause)
            headers = [("ce_id", id_.encode()), *headers, ("transition", kind.encode())]
            outputs.append(Output(record.CHANGED, key, change, [TYPES[record.CHANGED], *headers]))
            if answer.reversed != row.reversed:
                outputs.append(Output(record.REVERSED, key, change, [TYPES[record.REVERSED], *headers]))
            row.status, row.reversed, row.told_settled = answer.status, answer.reversed, row.settled and known
        return outputs

    def _change(
        self, run: Run, kind: str, answer: Answer, members: dict[str, object], cause: Cause
    ) -> tuple[str, bytes]:
        """The change's id and value."""
        row, origin = run.row, cause.origin
        row.seq += 1
        members["id"] = id_ = f"{run.id}/{row.seq}/{origin.topic}-{origin.partition}-{origin.offset}"
        members["seq"] = row.seq
        members["transition"] = kind
        members["from"] = row.status
        members["to"] = answer.status
        members["cause"] = {**_cause(cause), **_whole(cause)}
        if row.told_settled and row.settled:
            members["after_settlement"] = True
        return id_, _joined(members, row.shown)

    def _headers(self, key: bytes, cause: Cause) -> list[tuple[str, bytes]]:
        """`ce_time`: "the cause's observed_at or its record's timestamp, never the clock"."""
        time = show_recorded(cause.origin.timestamp) if cause.signal is None else show(cause.signal.at)
        headers = [JSON, SPEC, self._source, ("ce_subject", key)]
        if time is not None:
            headers.append(("ce_time", time.encode()))
        return headers


def _members(run: Run, answer: Answer, cause: Cause) -> dict[str, object]:
    """The members of an acceptance, but for those that only a document changes."""
    row, judged = run.row, run.judged
    attempt = judged.attempt
    return {
        "run_id": run.id,
        "version": row.version,
        "status": answer.status,
        "reversed": answer.reversed,
        "reasons": answer.reasons,
        "tier": TIERS[answer.tier] if answer.tier >= 0 else None,
        "accepted_at": None if judged.accepted_at is None else show(judged.accepted_at),
        "accepted_at_attempt": None if attempt is None else {"id": attempt.id, "number": attempt.number},
        "used": answer.used,
        "late_events": orjson.Fragment(row.late.shown),
        "violations": row.violations,
        "truncated": row.truncated,
        "cause": _cause(cause),
    }


def _cause(cause: Cause) -> dict[str, object]:
    origin = cause.origin
    return {
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "recorded_at": show_recorded(origin.timestamp),
        "signal": None if cause.signal is None else cause.signal.id,
    }


def _whole(cause: Cause) -> dict[str, object]:
    """What a change's cause has: its kind, and "the whole signal"."""
    if cause.signal is None or cause.file is None:
        return {"kind": "settlement" if cause.tick else "run", "signal": None}
    return {"kind": "signal", "signal": shown_signal(cause.file, cause.signal)}


def shown_signal(file: str, signal: Signal) -> Mapping[str, object]:
    """A signal as OCP has it. "What is shown of a signal is built from [its compared] fields only"."""
    kind, _, name = file.partition(":")
    shown = {
        "id": signal.id,
        "kind": kind,
        "name": name,
        "value": signal.value,
        "unit": signal.unit,
        "better": signal.better,
        "target": signal.target,
        "scale": signal.scale,
        "at_attempt": signal.attempt,
        "observed_at": show(signal.at),
        "source": shown_source(signal),
        "tier": TIERS[signal.tier],
    }
    return {member: found for member, found in shown.items() if found is not None or member == "value"}


def _joined(members: dict[str, object], shown: bytes) -> bytes:
    """One JSON object of both; `shown` was encoded when its document came."""
    return orjson.dumps(members)[:-1] + b"," + shown[1:]
