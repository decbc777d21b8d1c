"""The fetching side: Faust's Kafka consumer, made to hand out chunks with proven bounds instead of records.

Law: a chunk is exactly the input's [start, end) for a reader of committed records. Markers, aborted transactions and
compaction explain each gap, because the bounds are the fetcher's own positions before and after.
"""
# ruff: noqa: SLF001 - Faust and aiokafka publish no other way; each private name has a test in tests/e2e/test_seams.py

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import ConsumerStoppedError, IllegalStateError
from faust.transport.drivers import aiokafka as driver
from mode import Service

from processor.engine.exits import FAUST_LOG, die, die_of
from processor.engine.intake import Chunk, Intake

ISOLATION = "read_committed"
# aiokafka keeps one fetch per broker in flight: Faust's long poll of 1,500 ms for idle partitions would hold up busy
# ones.
FETCH_WAIT_MS = 100
MEMBERSHIP_SECONDS = 1.0
NOTHING_PLACED_SECONDS, NO_ROOM_SECONDS, SOME_ROOM_SECONDS = 0.05, 0.005, 0.02


class ConsumerThread(driver.AIOKafkaConsumerThread):  # type: ignore[misc] # Faust has no types here
    """aiokafka's side of the consumer, in a thread of its own. Only partitions that were placed are drained."""

    logger = FAUST_LOG

    def __init__(self, consumer: "Consumer", **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self.intake: Intake = consumer.intake
        self.epoch = -1
        self.placed: dict[TopicPartition, int] = {}  # position up to which chunks were handed out

    def _create_worker_consumer(self, transport: driver.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._isolation_level = ISOLATION  # read by start(); Faust asks for it only in its own exactly_once
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        return consumer

    @Service.task  # type: ignore[untyped-decorator]
    async def _check_membership(self) -> None:
        """What keeps it out of the group, aiokafka tells who asks for records; in a rebalance nobody does."""
        while not self.should_stop:
            await self.sleep(MEMBERSHIP_SECONDS)
            try:
                if self._consumer is not None and self._consumer._coordinator is not None:
                    self._consumer._coordinator.check_errors()
            except Exception as error:  # noqa: BLE001 - each kind has its code
                die_of(error, "taking part in the group")

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Called by aiokafka, before the group may go on."""
        self.placed = {}
        await super().on_partitions_revoked(revoked)

    async def place(self, start: dict[TopicPartition, int], epoch: int) -> None:
        """Seek to the positions of the state; from here on chunks flow. Called from the working side."""
        await self.call_thread(self._place, start, epoch)

    async def _place(self, start: dict[TopicPartition, int], epoch: int) -> None:
        consumer = self._ensure_consumer()
        if epoch != self.intake.epoch or not set(start) <= set(consumer.assignment()):
            raise IllegalStateError("rebalanced while placing")
        for tp, offset in start.items():  # always: by itself aiokafka would begin where the group's offsets say
            consumer.seek(TopicPartition(*tp), offset)
        self.placed, self.epoch = dict(start), epoch

    async def _fetch_records(
        self,
        consumer: AIOKafkaConsumer,
        active_partitions: Iterable[TopicPartition] | None,
        timeout: float | None = None,  # noqa: ASYNC109 - Faust's signature
        max_records: int | None = None,
    ) -> dict[TopicPartition, Chunk]:
        placed = [tp for tp in active_partitions or () if tp in self.placed]
        want = {tp for tp in placed if self.intake.has_room(tp)}
        if not want or consumer._fetcher._subscriptions.reassignment_in_progress:
            # an empty set of partitions would mean all of them to aiokafka
            await asyncio.sleep(NO_ROOM_SECONDS if placed else NOTHING_PLACED_SECONDS)
            return {}
        chunks = await self._drain(consumer, want, max_records)
        if not chunks:
            waiter = consumer._fetcher._create_fetch_waiter()
            await asyncio.wait([waiter], timeout=timeout if len(want) == len(placed) else SOME_ROOM_SECONDS)
            if waiter.done():
                waiter.result()
            else:
                waiter.cancel()
        return chunks

    async def _drain(
        self, consumer: AIOKafkaConsumer, want: set[TopicPartition], max_records: int | None
    ) -> dict[TopicPartition, Chunk]:
        """What the fetcher holds. From the first read of a position to the last no await suspends (the time-out is 0),
        so no seek and no rebalance can come between."""
        state = consumer._fetcher._subscriptions.subscription.assignment.state_value
        before: dict[TopicPartition, int] = {tp: state(tp).position for tp in want}
        for tp, position in before.items():
            if position != self.placed[tp]:
                die(f"{tp.topic}-{tp.partition} is fetched from {position}, expected {self.placed[tp]}", os.EX_SOFTWARE)
        try:
            got = await super()._fetch_records(consumer, want, timeout=0, max_records=max_records)
        except ConsumerStoppedError:
            raise
        except Exception as error:  # noqa: BLE001 - aiokafka would step over what it could not read
            die_of(error, f"fetching {sorted(f'{tp.topic}-{tp.partition}' for tp in want)}")
        chunks = {}
        for tp in want:
            end = state(tp).position
            if end != before[tp]:
                chunks[tp] = Chunk(self.epoch, tp, before[tp], end, got.get(tp, ()))
                self.placed[tp] = end
            elif tp in got:
                die(f"{tp.topic}-{tp.partition}: records came and the position stayed at {end}", os.EX_SOFTWARE)
        return chunks


class Consumer(driver.Consumer):  # type: ignore[misc] # Faust has no types here
    """Faust's consumer: it yields one message for each chunk, seeks where the state says, commits nothing."""

    logger = FAUST_LOG

    def __init__(self, transport: "Transport", **kwargs: Any) -> None:
        self.intake = transport.intake
        super().__init__(transport, **kwargs)

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def commit(self, *_args: object, **_kwargs: object) -> bool:
        """Nothing: offsets travel in the transactions and nowhere else."""
        return True

    force_commit = commit

    def verify_event_path(self, now: float, tp: TopicPartition) -> None:
        """Nothing: Faust would complain of missing commits and of the changelog, which it never reads."""

    async def seek_to_committed(self) -> dict[TopicPartition, int]:
        """Faust's word for where to start. Here: the positions in the state."""
        await self._thread.place(self.intake.start, self.intake.epoch)
        return self.intake.start

    def is_placed(self) -> bool:
        """Whether the positions of the present epoch were sought."""
        return bool(self._thread.epoch == self.intake.epoch)

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TopicPartition, Any]]:  # noqa: ASYNC109 - Faust's
        """One message for each chunk, its value."""
        chunks, _ = await self._wait_next_records(timeout)
        for tp, chunk in (chunks or {}).items():
            if self.should_stop or not self.flow_active or chunk.epoch != self.intake.epoch:
                return  # revoked meanwhile: the next owner starts at the committed positions
            self.intake.waiting[tp] += 1
            record = ConsumerRecord(tp.topic, tp.partition, chunk.end - 1, None, None, None, chunk, None, -1, -1, ())
            yield tp, self._to_message(tp, record)


class Transport(driver.Transport):  # type: ignore[misc] # Faust has no types here
    """Gives the app the consumer above."""

    Consumer = Consumer

    def __init__(self, app: Any, intake: Intake) -> None:
        self.intake = intake
        super().__init__(app.conf.broker_consumer, app, app.loop)
