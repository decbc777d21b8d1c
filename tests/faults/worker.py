"""A worker process that ends or halts at a named point, or lacks a guarantee; nothing of this is in the product.

    python -m tests.faults.worker [--die WHERE] [--halt WHERE] [--refuse COUNT] [--stall COUNT] [--mutant NAME]

WHERE is POINT:PIPELINE:COUNT. It takes the arguments of `tests.e2e.worker` as well.
"""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from processor.engine import restore
from processor.engine.publish import Entries, Entry, Publisher
from tests.e2e import worker
from tests.faults import mutants

STALL_SECONDS = 8


class CountDown:
    """Sends this process a signal at the given time it is come by: SIGKILL as a power cut, SIGSTOP as a frozen host."""

    def __init__(self, count: int, which: signal.Signals) -> None:
        self.left, self.which = count, which

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.which)


def struck_at(where: str, which: signal.Signals) -> None:
    """This signal at this point of this pipeline, at the so-manieth time."""
    point, pipeline, count = where.split(":")
    come_by = CountDown(int(count), which)
    if point in ("mid-restore", "batch-made"):
        (struck_in_restore if point == "mid-restore" else struck_with_outputs)(pipeline, come_by)
        return
    name, before = {
        "outputs-sent": ("send_offsets_to_transaction", True),
        "before-commit": ("commit_transaction", True),
        "after-commit": ("commit_transaction", False),
    }[point]
    original: Callable[..., Any] = getattr(AIOKafkaProducer, name)

    async def struck(self: AIOKafkaProducer, *args: object) -> object:
        here = f"-{pipeline}-" in str(self._txn_manager.transactional_id)
        if here and before:
            come_by()
        done = await original(self, *args)
        if here and not before:
            come_by()
        return done

    setattr(AIOKafkaProducer, name, struck)


def struck_with_outputs(pipeline: str, come_by: CountDown) -> None:
    """Before a transaction that has something to say. One at a time, so that no other is open then."""
    published, alone = Publisher.publish, asyncio.Lock()

    async def striking(self: Publisher, outputs: Entries, rows: list[Entry], positions: Any) -> int | None:
        async with alone:
            if outputs and f"-{pipeline}-" in self.changelog.topic:
                come_by()
            return await published(self, outputs, rows, positions)

    Publisher.publish = striking


def struck_in_restore(pipeline: str, come_by: CountDown) -> None:
    """After some records of the changelog were taken in, and not all."""
    restored = restore.Reader.restore
    restore.RESTORE_RECORDS = 50

    async def dying(self: restore.Reader, tables: Mapping[TopicPartition, Any], *args: Any) -> Any:
        wrapped = {tp: Dying(table, come_by) if f"-{pipeline}-" in tp.topic else table for tp, table in tables.items()}
        return await restored(self, wrapped, *args)

    restore.Reader.restore = dying


class Dying:
    """A table that counts what is taken in."""

    def __init__(self, table: Any, come_by: CountDown) -> None:
        self.table, self.come_by = table, come_by

    def update(self, changes: Any) -> None:
        self.table.update(changes)
        self.come_by()

    def __len__(self) -> int:
        return len(self.table)


def refuse(count: int) -> None:
    """The transaction of this number is not acknowledged: it is aborted, and the engine told so."""
    published, left = Publisher.publish, [count]

    async def refusing(self: Publisher, outputs: Entries, rows: list[Entry], positions: Any) -> int | None:
        left[0] -= 1
        if left[0] == 0:
            await self.producer.begin_transaction()
            await self.producer.abort_transaction()
            raise KafkaError("refused by the test")
        return await published(self, outputs, rows, positions)

    Publisher.publish = refusing


def stall(count: int) -> None:
    """The transaction of this number stays open for long, with its outputs written."""
    original, left = AIOKafkaProducer.send_offsets_to_transaction, [count]

    async def stalling(self: AIOKafkaProducer, *args: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            await asyncio.sleep(STALL_SECONDS)
        return await original(self, *args)

    AIOKafkaProducer.send_offsets_to_transaction = stalling


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--die")
    parser.add_argument("--halt")
    parser.add_argument("--refuse", type=int)
    parser.add_argument("--stall", type=int)
    parser.add_argument("--mutant", choices=sorted(mutants.MUTANTS))
    args, rest = parser.parse_known_args()
    if args.mutant:
        mutants.MUTANTS[args.mutant]()
    if args.die:
        struck_at(args.die, signal.SIGKILL)
    if args.halt:
        struck_at(args.halt, signal.SIGSTOP)
    if args.refuse:
        refuse(args.refuse)
    if args.stall:
        stall(args.stall)
    sys.argv[1:] = rest
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
