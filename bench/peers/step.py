"""One record through the product's own pipelines, for engines that keep the state themselves."""

from collections.abc import Mapping

import msgspec

from processor.commits import CommitsTable
from processor.internal import PREFIX
from processor.pipelines import pipelines
from processor.record import COMMIT_INDEX, Headers, Output, Record
from processor.runs import RunsTable
from processor.settings import Settings

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(dict[bytes, bytes]).decode


class Step:
    """The pure step; a state is bytes under the record's key."""

    def __init__(self) -> None:
        runs, commits = (pipeline.table(lambda _key: True) for pipeline in pipelines(Settings()))
        assert isinstance(runs, RunsTable)
        assert isinstance(commits, CommitsTable)
        self.runs, self.commits = runs, commits

    def of_runs(self, record: Record, state: bytes | None) -> tuple[list[Output], bytes | None]:
        """On `runs`, `signals` and `run-inputs`: what it leads to, and the run's state after it."""
        key = record.key or b""
        self.runs.rows = {} if state is None else {key: state}
        batch = self.runs.batch()
        outputs = batch.step(record)
        return outputs, batch.changes().get(key, state)

    def of_commits(self, record: Record, state: bytes | None) -> tuple[list[Output], bytes | None]:
        """On `commit-events` (which has no state) and `commit-index`."""
        if record.topic != COMMIT_INDEX:
            return self.commits.batch().step(record), state
        prefix = (record.key or b"")[:PREFIX]
        entries: dict[bytes, bytes] = {} if state is None else decode(state)
        self.commits.groups = {prefix: entries}
        batch = self.commits.batch()
        outputs = batch.step(record)
        for key, entry in batch.changes().items():
            if entry is None:
                entries.pop(key, None)
            else:
                entries[key] = entry
        return outputs, encode(entries)


def record_of(
    topic: str, place: tuple[int, int, int | None], key: bytes | None, value: bytes | None, headers: object
) -> Record:
    """A record as the pipelines know it; `place`: partition, offset, timestamp."""
    listed: Headers = list(headers.items()) if isinstance(headers, Mapping) else list(headers or ())  # type: ignore[call-overload]
    return Record(topic, *place, key, value, listed)
