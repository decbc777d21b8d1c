"""A small pipeline for tests of the engine alone: it counts the inputs of each key, and says so."""

import orjson

from processor.record import (
    ACCEPTANCE,
    DEAD_LETTERS,
    RUN_INPUTS,
    RUNS,
    SIGNALS,
    Belongs,
    Changes,
    Output,
    Pipeline,
    Record,
)


class Counting:
    """The rows: key → the number of inputs that were counted."""

    def __init__(self, belongs: Belongs) -> None:
        self.belongs = belongs
        self.rows: dict[bytes, bytes] = {}

    def batch(self) -> "CountingBatch":
        return CountingBatch(self)

    def update(self, changes: Changes) -> None:
        for key, row in changes.items():
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row

    def ticks(self, _before: int, _most: int) -> list[Output]:
        return []

    def __len__(self) -> int:
        return len(self.rows)


class CountingBatch:
    def __init__(self, table: Counting) -> None:
        self.table = table
        self.counted: dict[bytes, int] = {}

    def step(self, record: Record) -> list[Output]:
        if record.key is None:
            return [Output(DEAD_LETTERS, None, record.value, (("why", b"no key"), ("nothing", None)))]
        at = [record.topic, record.partition, record.offset]
        value = record.value
        if record.topic == RUN_INPUTS:
            wrapped = orjson.loads(value or b"")
            at, value = wrapped["at"], wrapped["value"].encode()
        elif record.key not in self.table.rows and not self.table.belongs(record.key):
            passed = orjson.dumps({"at": at, "value": (value or b"").decode()})
            return [Output(RUN_INPUTS, record.key, passed, record.headers)]
        if record.key not in self.counted:
            self.counted[record.key] = int(self.table.rows.get(record.key, b"0"))
        self.counted[record.key] += 1
        said = {"version": self.counted[record.key], "at": at, "padding": "x" * pad(value)}
        return [Output(ACCEPTANCE, record.key, orjson.dumps(said), (("content-type", b"application/json"),))]

    def changes(self) -> Changes:
        return {key: b"%d" % count for key, count in self.counted.items()}


def pad(value: bytes | None) -> int:
    """An input `pad <n>` asks for n more bytes of output."""
    return int(value.split()[1]) if value is not None and value.startswith(b"pad ") else 0


PIPELINE = Pipeline("runs", (RUNS, SIGNALS, RUN_INPUTS), Counting)
