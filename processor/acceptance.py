"""`diff`: what a run's state says now, and what is new about it, as the records that are published."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from processor import record
from processor.evaluate import shown_source
from processor.instants import show, show_recorded
from processor.record import Output
from processor.state import TIERS, Late, Run, Signal

TYPES: Final = {
    record.ACCEPTANCE: b"ocp.acceptance.evaluated.v1",
    record.CHANGED: b"ocp.acceptance.changed.v1",
    record.REVERSED: b"ocp.acceptance.reversed.v1",
}
JSON: Final = ("content-type", b"application/json")
SPEC: Final = ("ce_specversion", b"1.0")


class Origin(NamedTuple):
    """Where an input was read first; `timestamp` in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None


class Cause(NamedTuple):
    """The input that was applied: a signal with its file, or a document."""

    origin: Origin
    file: str | None = None
    signal: Signal | None = None


class Answer(NamedTuple):
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
    reasons, used, tier = [], [], late.tier
    rejected, unknown = bool(late.reasons), row.unanswered is not None
    for clause in judged.clauses:
        if clause.reason is not None:
            reasons.append(clause.reason)
        if clause.holds is None:
            unknown = True
        else:
            rejected = rejected or not clause.holds
            used += clause.used
            tier = max(tier, clause.tier)
    if row.unanswered is not None and not rejected:  # "`empty_rule` never stands beside `late:`"
        reasons = [row.unanswered]
    return Answer(
        "rejected" if rejected else "unknown" if unknown else "accepted",
        rejected and bool(late.reasons) and judged.accepted_at is not None,
        reasons + late.reasons,
        list(dict.fromkeys(used + late.used)),
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


class Publisher(NamedTuple):
    """Counts an applied input and says what it led to. `source` is CloudEvents' `ce_source`."""

    source: bytes

    def announce(self, run: Run, cause: Cause, *, forgotten: bool = False) -> list[Output]:
        """The run's acceptance, then the change and the alert if there is one. The run's counters go on."""
        row, key = run.row, run.id.encode()
        answer = evaluate(run)
        row.version += 1
        body = _answer(run, answer)
        acceptance = None if forgotten else _joined({**body, "cause": _cause(cause)}, row.shown)
        outputs = [
            Output(
                record.ACCEPTANCE, key, acceptance, self._headers(record.ACCEPTANCE, key, f"v{row.version}", cause, ())
            )
        ]
        kind = transition(row.status, row.reversed, answer.status, answer.reversed)
        if kind is None:
            return outputs
        row.seq += 1
        origin = cause.origin
        suffix = f"{row.seq}/{origin.topic}-{origin.partition}-{origin.offset}"
        news = {
            "id": f"{run.id}/{suffix}",
            "seq": row.seq,
            "transition": kind,
            "from": row.status,
            "to": answer.status,
        }
        change = _joined({**body, **news, "cause": _full_cause(cause)}, row.shown)
        extra = (("transition", kind.encode()),)
        outputs.append(Output(record.CHANGED, key, change, self._headers(record.CHANGED, key, suffix, cause, extra)))
        if answer.reversed != row.reversed:
            outputs.append(
                Output(record.REVERSED, key, change, self._headers(record.REVERSED, key, suffix, cause, extra))
            )
        row.status, row.reversed = answer.status, answer.reversed
        return outputs

    def _headers(
        self, topic: str, key: bytes, suffix: str, cause: Cause, extra: tuple[tuple[str, bytes], ...]
    ) -> list[tuple[str, bytes]]:
        time = show_recorded(cause.origin.timestamp) if cause.signal is None else show(cause.signal.at)
        return [
            JSON,
            SPEC,
            ("ce_id", key + b"/" + suffix.encode()),
            ("ce_source", self.source),
            ("ce_type", TYPES[topic]),
            ("ce_subject", key),
            *([] if time is None else [("ce_time", time.encode())]),
            *extra,
        ]


def _answer(run: Run, answer: Answer) -> dict[str, object]:
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
    }


def _cause(cause: Cause) -> dict[str, object]:
    topic, partition, offset, timestamp = cause.origin
    return {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "recorded_at": show_recorded(timestamp),
        "signal": None if cause.signal is None else cause.signal.id,
    }


def _full_cause(cause: Cause) -> dict[str, object]:
    whole = cause.signal is not None and cause.file is not None
    return {
        **_cause(cause),
        "kind": "signal" if whole else "run",
        "signal": shown_signal(cause.file, cause.signal)
        if cause.file is not None and cause.signal is not None
        else None,
    }


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
