"""A naive reading of the contract: what `acceptance replay` must say for a list of input records, recomputed each time.

Law: a run is its newest document, the set of signals it was sent, and the commit events it was told of; nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .commits import Cause, Event, Run, clear, match
from .documents import Document, Signal, document_of, signal_of
from .records import MAX_RECORD_BYTES, Refused, bytes_of, json_of, key_of
from .showing import acceptance, cloud, coordinates, whole_signal

JSON = dict[str, Any]
TOPICS = ("runs", "signals", "commit-events")


# --- what is expected ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Output:
    """One record on `acceptance`, `acceptance-changed` or `acceptance-reversed`."""

    run_id: str
    value: JSON | None
    headers: dict[str, str]
    absent: tuple[str, ...] = ()  # headers that must not be there


@dataclass(frozen=True)
class DeadLetter:
    """One record on `acceptance-dead-letters`; `line` is the input record, `embedded` the signal when `path` is set."""

    code: str
    topic: str
    partition: int
    offset: int
    path: str | None
    timestamp: str
    line: Mapping[str, Any]
    embedded: Any = None


@dataclass
class Expected:
    final: dict[str, JSON | None] = field(default_factory=dict)
    acceptance: list[Output] = field(default_factory=list)
    changed: list[Output] = field(default_factory=list)
    alerts: list[Output] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)


# --- state ---------------------------------------------------------------------------------------


class Reading:
    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}
        self.kept: dict[Event, Cause] = {}
        self.index: dict[tuple[str, Event], dict[str, bool]] = {}
        self.expected = Expected()

    # --- one input record ---

    def take(self, line: Mapping[str, Any], offset: int) -> None:
        """Each input is applied, or is in the dead letters with its reason."""
        topic = line["topic"]
        milliseconds = line.get("timestamp")
        recorded_at = None if milliseconds is None else milliseconds * 10**6
        try:
            key, value = self.checked(line, topic)
        except Refused as refused:
            self.bury(line, offset, refused.code)
            return
        cause = Cause(topic, offset, recorded_at, value if isinstance(value, Signal) else None)
        if topic == "signals":
            run = self.runs.setdefault(key, Run())
            run.signals.add(value)
            self.evaluate(key, cause)
        elif topic == "runs":
            self.take_document(key, value, cause, line)
        else:
            self.take_event(Event(key, value), cause)

    def checked(self, line: Mapping[str, Any], topic: str) -> tuple[str, Any]:
        """The codes, looked for in the contract's order."""
        raw = bytes_of(line, "value")
        if raw is not None and len(raw) > MAX_RECORD_BYTES:
            raise Refused("too_large")
        key = key_of(topic, bytes_of(line, "key"))
        if raw is None:
            if topic == "runs":
                return key, None  # null = forget this run
            raise Refused("bad_json")  # no value where one is needed
        given = json_of(raw)
        if topic == "runs":
            return key, document_of(given, key)
        if topic == "commit-events" and isinstance(given, dict) and given.get("kind") in ("verdict", "score"):
            raise Refused("schema")  # a signal on `commit-events` that is no event
        return key, signal_of(given)

    def bury(
        self, line: Mapping[str, Any], offset: int, code: str, path: str | None = None, embedded: Any = None
    ) -> None:
        timestamp = str(line.get("timestamp", -1))
        letter = DeadLetter(code, line["topic"], 0, offset, path, timestamp, line, embedded)
        self.expected.dead_letters.append(letter)

    # --- documents and commit events ---

    def take_document(self, key: str, document: Document | None, cause: Cause, line: Mapping[str, Any]) -> None:
        """A document is applied first; what it makes match, ambiguous or clear are inputs of their own after it."""
        run = self.runs.setdefault(key, Run())
        old = run.document.shas if run.document else frozenset()
        run.document = document
        if document is None:
            run.signals, run.told = set(), {}  # a null document forgets: document and signals go
            self.forget(key, cause)
        else:
            # an event counts while the newest document names that commit; one that it newly matches is told again
            told = {
                event: {sha: c for sha, c in pairs.items() if sha in document.shas} for event, pairs in run.told.items()
            }
            run.told = {event: pairs for event, pairs in told.items() if pairs}
            for place, given, code in document.bad_signals:
                self.bury(line, cause.offset, code, f"run.signals[{place}]", given)
            self.evaluate(key, cause)
        self.tell(old | (document.shas if document else frozenset()), first=None, cause=cause)

    def take_event(self, event: Event, cause: Cause) -> None:
        """A commit event goes to every run it matches, whether the run is recorded before or after it."""
        self.kept.setdefault(event, cause)
        self.tell(frozenset({event.sha}), first=event, cause=cause)

    def tell(self, shas: frozenset[str], first: Event | None, cause: Cause) -> None:
        """The triggering event first, then the events it affects in offset order, for each the run ids in order.

        A pair can only change with a sha that shares its first seven digits; the rest is left alone to save time.
        """
        sevens = {sha[:7] for sha in shas}
        known = self.known(sevens)
        affected = [event for event in self.kept if event.sha[:7] in sevens]  # kept in offset order
        changes: list[tuple[bool, Event, str]] = []
        for event in affected:
            for run_id, run in self.runs.items():
                before = self.index.pop((run_id, event), {})
                own = run.document.shas if run.document else frozenset()
                after = {sha: clear(event.sha, sha, known) for sha in own if match(event.sha, sha)}
                if after:
                    self.index[run_id, event] = after
                news = any(sha not in before or before[sha] != after[sha] for sha in after)
                if (after and event == first) or news:
                    changes.append((event != first, event, run_id))
        order = {event: place for place, event in enumerate(self.kept)}
        for _, event, run_id in sorted(changes, key=lambda c: (c[0], order[c[1]], c[2])):
            run = self.runs[run_id]
            run.told.setdefault(event, {}).update(self.index[run_id, event])
            self.evaluate(run_id, cause if event == first else self.kept[event])

    def known(self, sevens: set[str]) -> list[str]:
        """All shas known, from newest documents and kept commit events (of those that begin like these)."""
        shas = {event.sha for event in self.kept}
        for run in self.runs.values():
            if run.document:
                shas |= run.document.shas
        return sorted(sha for sha in shas if sha[:7] in sevens)

    # --- judging ---

    def evaluate(self, run_id: str, cause: Cause) -> None:
        run = self.runs[run_id]
        value = acceptance(run_id, run)
        self.emit(run_id, run, value, cause, null=False)

    def forget(self, run_id: str, cause: Cause) -> None:
        """A null is written to `acceptance` and counts in `version`; its change says unknown, `no_run`."""
        run = self.runs[run_id]
        self.emit(run_id, run, acceptance(run_id, run), cause, null=True)

    def emit(self, run_id: str, run: Run, value: JSON, cause: Cause, null: bool) -> None:
        """One acceptance for each applied input, one change for each transition, one alert for each flip."""
        run.version += 1
        value = {**value, "version": run.version, "cause": coordinates(cause)}
        value["cause"]["signal"] = cause.signal.id if cause.signal else None
        shown_value = None if null else value
        headers = cloud(f"{run_id}/v{run.version}", "evaluated", run_id, cause)
        absent = () if "ce_time" in headers else ("ce_time",)
        self.expected.acceptance.append(Output(run_id, shown_value, headers, absent))
        self.expected.final[run_id] = shown_value
        transition = transition_of(run, value["status"], value["reversed"])
        flipped = run.reversed != value["reversed"]
        before, run.status, run.reversed = run.status, value["status"], value["reversed"]
        if transition is None:
            return
        run.seq += 1
        id_ = f"{run_id}/{run.seq}/{cause.topic}-0-{cause.offset}"
        whole = {"kind": "signal" if cause.signal else "run", "signal": whole_signal(cause.signal)}
        change = {
            **value,
            "id": id_,
            "seq": run.seq,
            "transition": transition,
            "from": before,
            "to": run.status,
            "cause": {**coordinates(cause), **whole},
        }
        headers = {**cloud(id_, "changed", run_id, cause), "transition": transition}
        self.expected.changed.append(Output(run_id, change, headers, absent))
        if flipped:
            headers = {**cloud(id_, "reversed", run_id, cause), "transition": transition}
            self.expected.alerts.append(Output(run_id, change, headers, absent))


def transition_of(run: Run, status: str, reversed_: bool) -> str | None:
    """The table of contract 5, from the top."""
    if reversed_ and not run.reversed:
        return "reversed"
    if status != run.status:
        if status == "accepted":
            return "accepted" if run.status == "unknown" else "reinstated"
        return "rejected" if status == "rejected" else "withdrawn"
    return "cleared" if run.reversed and not reversed_ else None


def read(lines: Iterable[Mapping[str, Any]]) -> Expected:
    """One partition; offsets count up from 0 for each topic; a commit event is matched before the next line is read."""
    reading = Reading()
    offsets = dict.fromkeys(TOPICS, 0)
    for line in lines:
        reading.take(line, offsets[line["topic"]])
        offsets[line["topic"]] += 1
    return reading.expected
