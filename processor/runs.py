"""The runs pipeline: documents, signals and matched commit events, folded into runs.

    bytes → decode → evolve(state, event) → evaluate(state) → diff(before, after) → publish

The worker and `replay` both run these steps.
"""

from collections.abc import Sequence

from processor import evolve, internal
from processor.acceptance import Cause, Publisher, shown_signal
from processor.dead_letters import dead_letter
from processor.decode import BadRecord, BadSignal, decode_document, decode_json, decode_key, decode_signal
from processor.internal import Binding
from processor.limits import Limits
from processor.record import RUN_INPUTS, RUNS, Belongs, Changes, Output, Record
from processor.state import Match, Run, encode, open_run


class RunsTable:
    """The runs of one partition, encoded, by key."""

    def __init__(self, limits: Limits, max_record_bytes: int, publisher: Publisher, belongs: Belongs) -> None:
        self.limits = limits
        self.max_record_bytes = max_record_bytes
        self.publisher = publisher
        self.belongs = belongs
        self.rows: dict[bytes, bytes] = {}

    def batch(self) -> "RunsBatch":
        """A batch on the committed rows."""
        return RunsBatch(self)

    def update(self, changes: Changes) -> None:
        """Takes in committed rows."""
        for key, row in changes.items():
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row

    def __len__(self) -> int:
        return len(self.rows)


class RunsBatch:
    """Inputs folded into runs, not committed yet. A run is decoded once and encoded once, however many it takes."""

    def __init__(self, table: RunsTable) -> None:
        self._table = table
        self._runs: dict[bytes, Run] = {}

    def step(self, record: Record) -> list[Output]:
        """Applies one input: its acceptance, its change, its alert; or its dead letter."""
        try:
            return self._step(record)
        except BadRecord as reason:
            return [self._dead_letter(record, reason)]

    def changes(self) -> Changes:
        """The runs that were touched."""
        return {key: run.encoded() for key, run in self._runs.items()}

    def _step(self, record: Record) -> list[Output]:
        origin, value, key = internal.origin_of(record), record.value, record.key
        found = internal.match_in(record)
        if found is None and value is not None and len(value) > self._table.max_record_bytes:
            raise BadRecord(
                "too_large", f"the value has {len(value)} bytes; at most {self._table.max_record_bytes} are read"
            )
        run_id = decode_key(key)
        assert key is not None  # noqa: S101 (decode_key refuses it)
        if record.topic != RUN_INPUTS and not self._is_here(key):
            return [internal.pass_on(record)]
        if found is not None:
            return self._match(key, run_id, Cause(origin, found.file, found.signal), found)
        if origin.topic == RUNS:
            return self._record(key, run_id, Cause(origin), record)
        file, signal = decode_signal(decode_json(value))
        run = self._open(key, run_id)
        saved = self._saved(run, value)
        evolve.observe(run, file, signal)
        self._hold(key, run, saved)
        return self._table.publisher.announce(run, Cause(origin, file, signal))

    def _is_here(self, key: bytes) -> bool:
        """A run that is kept here belongs here; else the key decides. "Two partitions never both hold a run"."""
        return key in self._table.rows or key in self._runs or self._table.belongs(key)

    def _record(self, key: bytes, run_id: str, cause: Cause, record: Record) -> list[Output]:
        if record.value is None:
            run = self._open(key, run_id)
            before = run.terms().commits
            evolve.forget(run)
            return self._table.publisher.announce(run, cause, forgotten=True) + _bindings(run_id, before, [])
        document = decode_document(decode_json(record.value), run_id)
        run = self._open(key, run_id)
        before = run.terms().commits
        saved = self._saved(run, record.value)
        evolve.record(run, document)
        self._hold(key, run, saved)
        return [
            *self._table.publisher.announce(run, cause),
            *(self._bad_signal(record, bad) for bad in document.bad),
            *_bindings(run_id, before, document.commits),
        ]

    def _match(self, key: bytes, run_id: str, cause: Cause, found: Match) -> list[Output]:
        run = self._open(key, run_id)
        if not evolve.names(run, found):  # a newer document came meanwhile; it told the index so
            return []
        saved = self._saved(run, encode(found))
        evolve.match(run, found)
        self._hold(key, run, saved)
        return self._table.publisher.announce(run, cause)

    def _open(self, key: bytes, run_id: str) -> Run:
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = open_run(run_id, self._table.rows.get(key))
        return run

    def _saved(self, run: Run, value: bytes | None) -> bytes | None:
        """The row as it is, if the input might not fit."""
        added = len(value or b"")
        if self._table.limits.near(run, added):
            return run.encoded()
        run.size += 4 * added
        return None

    def _hold(self, key: bytes, run: Run, saved: bytes | None) -> None:
        if saved is not None:
            try:
                self._table.limits.hold(run)
            except BadRecord:
                self._runs[key] = open_run(run.id, saved)
                raise

    def _dead_letter(self, record: Record, reason: BadRecord) -> Output:
        found = internal.match_in(record)
        if found is not None:
            value = encode(shown_signal(found.file, found.signal))
            return dead_letter(reason, internal.origin_of(record), found.sha.encode(), value, ())
        first = internal.received(record)
        return dead_letter(reason, internal.origin_of(record), first.key, first.value, first.headers)

    def _bad_signal(self, record: Record, bad: BadSignal) -> Output:
        first = internal.received(record)
        return dead_letter(bad.reason, internal.origin_of(record), first.key, bad.value, first.headers, path=bad.path)


def _bindings(run_id: str, before: Sequence[str], now: Sequence[str]) -> list[Output]:
    """What the commit index has to know of a newer document, where it differs from the one before."""
    changed = sorted({sha[: internal.PREFIX] for sha in set(before) ^ set(now)})
    return [
        internal.indexed(Binding(run_id, [sha for sha in now if sha.startswith(prefix)]), prefix) for prefix in changed
    ]
