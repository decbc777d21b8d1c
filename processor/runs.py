"""The runs pipeline: documents, signals and matched commit events, folded into runs.

    bytes → decode → evolve(state, event) → evaluate(state) → diff(before, after) → publish

The worker and `replay` both run these steps.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from processor import evolve, internal
from processor.acceptance import Cause, Publisher, shown_signal
from processor.dead_letters import dead_letter
from processor.decode import BadRecord, check_size, decode_document, decode_json, decode_key, decode_signal
from processor.due import Due
from processor.internal import Binding
from processor.limits import A_PLACE, Limits
from processor.record import RUN_INPUTS, RUNS, Belongs, Changes, Output, Record
from processor.retention import Retention
from processor.state import Match, Row, Run, decode_row, encode, open_run


class RunsTable:
    """The runs of one partition, encoded, by key."""

    def __init__(
        self, limits: Limits, max_record_bytes: int, retention: Retention, publisher: Publisher, belongs: Belongs
    ) -> None:
        self.limits = limits
        self.retention = retention
        self.max_record_bytes = max_record_bytes
        self.publisher = publisher
        self.belongs = belongs
        self.rows: dict[bytes, bytes] = {}
        self._due = Due(self._due_of)

    def batch(self) -> "RunsBatch":
        """A batch on the committed rows."""
        return RunsBatch(self)

    def update(self, changes: Changes) -> None:
        """Takes in committed rows."""
        self._due.changed.update(changes)
        for key, row in changes.items():
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row

    def ticks(self, now: int, most: int) -> list[Output]:
        """Ticks for runs that settle or go at `now` (seconds since 1970); at most so many. One is said again when
        nothing came of it, or the table is restored elsewhere, which does no harm."""
        return [internal.tick(RUN_INPUTS, key, now) for key in self._due.take(now, most)]

    def _due_of(self, key: bytes) -> int | None:
        stored = self.rows.get(key)
        return None if stored is None else self.retention.due(decode_row(stored))

    def __len__(self) -> int:
        return len(self.rows)


class RunsBatch:
    """Inputs folded into runs, not committed yet. A run is decoded once and encoded once, however many it takes."""

    def __init__(self, table: RunsTable) -> None:
        self._table = table
        self._runs: dict[bytes, Run] = {}

    def step(self, record: Record) -> list[Output]:
        """Applies one input: its acceptance, its change, its alert; or its dead letter."""
        if record.topic != RUN_INPUTS:
            return self._read(record, here=False)
        if (now := internal.tick_in(record)) is not None:
            return self._tick(record, now)
        found = internal.match_in(record)
        return self._read(internal.received(record), here=True) if found is None else self._match(record, found)

    def changes(self) -> Changes:
        """The runs that an input was applied to."""
        return {key: run.encoded() if run.row.version else None for key, run in self._runs.items()}

    def _read(self, record: Record, *, here: bool) -> list[Output]:
        """`here`: the record was passed on, so this is where it belongs."""
        try:
            key, value = record.key, record.value
            check_size(value, record.headers, self._table.max_record_bytes)
            run_id = decode_key(key)
            if not (here or key in self._runs or key in self._table.rows or self._table.belongs(run_id.encode())):
                return [internal.pass_on(record)]
            run = self._open(run_id)
            if record.topic == RUNS:
                return self._record(run, record)
            file, signal = decode_signal(decode_json(value))
            _refuse_expired(run)
            saved = self._saved(run, value)
            evolve.observe(run, file, signal)
            self._keep(run, saved)
            return self._table.publisher.announce(run, Cause(internal.origin_of(record), file, signal))
        except BadRecord as reason:
            return [dead_letter(reason, internal.origin_of(record), record.key, record.value, record.headers)]

    def _record(self, run: Run, record: Record) -> list[Output]:
        cause, value, before = Cause(internal.origin_of(record)), record.value, run.terms().commits
        if value is None:
            evolve.forget(run)
            self._keep(run, None)
            return self._table.publisher.announce(run, cause, forgotten=True) + _bindings(run.id, before, [])
        document = decode_document(decode_json(value), run.id)
        _refuse_expired(run)
        saved = run.encoded()  # what a document comes to, nobody can say before
        evolve.record(run, document)
        self._keep(run, saved)
        return [
            *self._table.publisher.announce(run, cause),
            *(
                dead_letter(bad.reason, cause.origin, record.key, bad.value, record.headers, path=bad.path)
                for bad in document.bad
            ),
            *_bindings(run.id, before, document.commits),
        ]

    def _match(self, record: Record, found: Match) -> list[Output]:
        origin = internal.origin_of(record)
        run = self._open(decode_key(record.key))
        if not evolve.names(run, found):  # a newer document came meanwhile, and the index was told
            return []
        event = encode(shown_signal(found.file, found.signal))
        try:
            saved = self._saved(run, record.value)
            evolve.match(run, found)
            self._keep(run, saved)
        except BadRecord as reason:
            return [dead_letter(reason, origin, found.sha.encode(), event, ())]
        return self._table.publisher.announce(run, Cause(origin, found.file, found.signal))

    def _tick(self, record: Record, now: int) -> list[Output]:
        """Settles a run, or lets it go; else only the row knows. There may be no such run any more."""
        run = self._open(decode_key(record.key))
        row, cause = run.row, Cause(internal.origin_of(record), tick=True)
        if not row.version:
            return []
        self._runs[record.key or b""] = run
        if self._table.retention.ends(row, now):
            return self._let_go(run, now, cause)
        was_settled = row.settled
        evolve.tick(run, now)
        return [] if row.settled == was_settled else self._table.publisher.announce(run, cause)

    def _let_go(self, run: Run, now: int, cause: Cause) -> list[Output]:
        """A run whose window closed long ago keeps its answer and a stub; signals that no document ever came for go
        with all they led to; a stub goes."""
        row, publisher = run.row, self._table.publisher
        if row.unanswered != "no_run":
            outputs = publisher.announce(run, cause, expired=True) + _bindings(run.id, run.terms().commits, [])
            evolve.expire(run, now)
            return outputs
        if not row.count:
            run.row = Row()
            return []
        evolve.forget(run)
        outputs = publisher.announce(run, cause, forgotten=True)
        run.row = replace(run.row, since=now) if row.seq else Row()  # of what was never announced, nobody counts on
        return outputs

    def _open(self, run_id: str) -> Run:
        key = run_id.encode()
        return self._runs.get(key) or open_run(run_id, self._table.rows.get(key))

    def _saved(self, run: Run, value: bytes | None) -> bytes | None:
        """The row as it is, if a signal of this size might not fit."""
        size = len(value or b"")
        if self._table.limits.near(run, size):
            return run.encoded()
        run.size += A_PLACE * size
        return None

    def _keep(self, run: Run, saved: bytes | None) -> None:
        """The run, of which was heard, is part of the batch; within its limits, or as it was."""
        key = run.id.encode()
        run.row.since = None
        if saved is not None:
            try:
                self._table.limits.hold(run)
            except BadRecord:
                if key in self._runs:
                    self._runs[key] = open_run(run.id, saved)
                raise
        self._runs[key] = run


def _refuse_expired(run: Run) -> None:
    if run.row.expired:
        raise BadRecord(
            "run_expired",
            "the run's window closed, and nothing was heard of it, longer ago than STATE_RETENTION_DAYS: only its last "
            "answer is kept. If it really goes on, write null for it to `runs`, then its document and its signals anew",
        )


def _bindings(run_id: str, before: Sequence[str], now: Sequence[str]) -> list[Output]:
    """What the commit index has to know of a newer document, where it differs from the one before."""
    changed = sorted({sha[: internal.PREFIX] for sha in set(before) ^ set(now)})
    return [
        internal.indexed(Binding(run_id, [sha for sha in now if sha.startswith(prefix)]), prefix) for prefix in changed
    ]
