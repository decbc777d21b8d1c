"""The topics of one test on the shared broker, what is put in and what comes out, and worker processes.

What comes out is read with librdkafka, never with the client that the worker uses.
"""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from processor import record, topics_admin
from processor.engine import positions
from processor.settings import Settings
from tests import children
from tests.broker import REPOSITORY, ends
from tests.waiting import until

FAST = {"SESSION_TIMEOUT_SECONDS": "6", "REBALANCE_TIMEOUT_SECONDS": "10"}
FAST |= {"SETTLE_GRACE_SECONDS": str(100 * 365 * 86_400)}  # tests of other things have windows of long ago
INPUTS = (record.RUNS, record.SIGNALS, record.RUN_INPUTS, record.COMMIT_EVENTS, record.COMMIT_INDEX)


@dataclass
class Worker:
    """A worker process and what it has said."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        return self.log.read_text()

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 30) -> None:
        """Wait for something while this worker is alive."""

        def so_or_ended() -> bool:
            ended = self.process.poll() is not None
            return bool(condition()) or ended

        until(so_or_ended, what, seconds)
        assert condition(), f"waited for {what}, but the worker ended with {self.process.returncode}:\n{self.said()}"

    def wait_said(self, text: str, seconds: float = 30, times: int = 1) -> None:
        self.wait(lambda: self.said().count(text) >= times, f"worker says {text!r} ({times})", seconds)

    def wait_end(self, seconds: float = 30) -> int:
        until(lambda: self.process.poll() is not None, f"the worker ends; it said\n{self.said()}", seconds)
        return self.process.returncode

    def send(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def kill(self) -> None:
        """As a machine that goes down."""
        self.process.kill()
        self.process.wait()


@dataclass
class World:
    """Everything of one test has its own names."""

    servers: str
    scratch: Path
    tag: str = field(default_factory=lambda: "t" + uuid.uuid4().hex[:8])
    environment: dict[str, str] = field(default_factory=dict)
    replicas: int = 1
    module: str = "tests.e2e.worker"  # what a worker process runs
    workers: list[Worker] = field(default_factory=list)

    @cached_property
    def settings(self) -> Settings:
        return Settings(
            kafka_bootstrap_servers=self.servers,
            application_id=self.tag,
            topic_prefix=f"{self.tag}.",
            topic_partitions=4,
            topic_replication_factor=self.replicas,
        )

    def name(self, logical: str) -> str:
        return self.settings.topic(logical)

    @cached_property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def create(self, without: Iterable[str] = (), partitions: Mapping[str, int] = {}) -> None:
        """The topics as the product makes them; some left out, some with another partition count."""
        logical = {self.name(topic): topic for topic in topics_admin.TABLE}
        new = [
            NewTopic(
                plan.name, partitions.get(logical[plan.name], plan.partitions), plan.replicas, config=dict(plan.config)
            )
            for plan in topics_admin.plan(self.settings)
            if logical[plan.name] not in set(without)
        ]
        for future in self.admin.create_topics(new).values():
            future.result(30)
        names = {topic.topic for topic in new}
        until(lambda: names <= self.admin.list_topics(timeout=10).topics.keys(), "the topics are there")

    def recreate(self, logical: str, partitions: int = 4) -> None:
        """Make a topic anew, empty."""
        name = self.name(logical)
        self.admin.delete_topics([name])[name].result(30)
        until(lambda: name not in self.admin.list_topics(timeout=10).topics, f"{name} is gone")

        def created() -> bool:
            with suppress(Exception):
                self.admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
                return True
            return False

        until(created, f"{name} is there again")

    def producer(self, **config: Any) -> Producer:
        """Librdkafka with its own partitioner, which is not Java's."""
        return Producer({"bootstrap.servers": self.servers, "linger.ms": 5, **config})

    def produce(self, records: Iterable[tuple[str, bytes | None, bytes | None]], **config: Any) -> None:
        """Write records (logical topic, key, value) and wait for all."""
        producer, refused = self.producer(**config), []

        def delivered(error: KafkaError | None, _message: Message) -> None:
            if error is not None:
                refused.append(str(error))

        for topic, key, value in records:
            while True:
                try:
                    producer.produce(self.name(topic), value=value, key=key, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        assert refused == []

    def read(self, logical: str, isolation: str = "read_committed") -> list[Message]:
        """Every record up to the topic's present end, in the order of each partition."""
        return read(self.servers, self.name(logical), isolation)

    def lag(self, inputs: Iterable[str] = INPUTS) -> int:
        """Offsets that the group has not committed."""
        # `committed` of a consumer: the admin client's list_consumer_group_offsets crashes the process when it fails
        # reading uncommitted, or it waits until none of these offsets is in an open transaction
        settings = {"bootstrap.servers": self.servers, "group.id": self.tag, "isolation.level": "read_uncommitted"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        try:
            counts = {name: consumer.list_topics(name, 10).topics[name].partitions for name in map(self.name, inputs)}
            asked = [TopicPartition(name, number) for name, numbers in counts.items() for number in numbers]
            total = 0
            for tp in consumer.committed(asked, 30):
                first, end = watermarks(consumer, tp)
                total += end - max(first, tp.offset)
            return total
        finally:
            consumer.close()

    def members(self) -> int:
        """How many workers the group has."""
        return len(self.admin.describe_consumer_groups([self.tag])[self.tag].result(10).members)

    def settle(self, inputs: Iterable[str] = INPUTS, seconds: float = 60) -> None:
        """Wait until everything that went in was worked off, and what came of it can be read."""
        inputs = tuple(inputs)
        self.while_served(lambda: self.is_settled(inputs), f"{self.tag} has no lag", seconds)

    def is_settled(self, inputs: Iterable[str] = INPUTS) -> bool:
        """No lag, and no transaction open: its end comes to each partition in its own time."""
        if self.lag(inputs):
            return False
        topics = [plan.name for plan in topics_admin.plan(self.settings)]
        return ends(self.servers, topics, committed=True) == ends(self.servers, topics, committed=False)

    def while_served(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for something while there is a worker."""

        def so_or_alone() -> bool:
            return condition() or all(worker.process.poll() is not None for worker in self.workers)

        until(so_or_alone, what, seconds)
        assert condition(), "no worker is left:\n" + "\n".join(worker.said() for worker in self.workers)

    def settle_by_state(self, pipeline: str = "runs", inputs: Iterable[str] = INPUTS[:3], seconds: float = 60) -> None:
        """The same, by the positions in the state: without transactions the group has no offsets."""

        def settled() -> bool:
            rows = self.read(f"{pipeline}-changelog")
            at = {m.partition(): value(m)["positions"] for m in rows if m.key() == positions.KEY}
            return all(
                at.get(partition, {}).get(topic, 0) >= end
                for topic in map(self.name, inputs)
                for partition, end in self.ends(topic).items()
            )

        self.while_served(settled, f"{self.tag} has read everything", seconds)

    def ends(self, topic: str) -> dict[int, int]:
        """The end of each partition of a topic, by its name on the broker."""
        return {number: end for (_, number), end in ends(self.servers, [topic], committed=False).items()}

    def worker(self, *args: str, **environment: str) -> Worker:
        """Start a worker process with these arguments."""
        log = self.scratch / f"worker-{len(self.workers)}.log"
        names = {"KAFKA_BOOTSTRAP_SERVERS": self.servers, "APPLICATION_ID": self.tag, "TOPIC_PREFIX": f"{self.tag}."}
        with log.open("wb") as out:
            process = children.start(
                [sys.executable, "-m", self.module, *args],
                env={**os.environ, **FAST, **names, **self.environment, **environment},
                cwd=REPOSITORY,
                stdout=out,
                stderr=out,
            )
        started = Worker(process, log)
        self.workers.append(started)
        return started

    def close(self) -> None:
        """End what this test started."""
        for worker in self.workers:
            if worker.process.poll() is None:
                with suppress(ProcessLookupError):
                    worker.send(signal.SIGCONT)
                worker.kill()


@contextmanager
def world(servers: str, scratch: Path, **environment: str) -> Iterator[World]:
    """A world, and the end of its workers."""
    made = World(servers, scratch, environment=environment)
    try:
        yield made
    finally:
        made.close()


def read(servers: str, topic: str, isolation: str = "read_committed") -> list[Message]:
    """Every record of a topic up to its present end, in the order of each partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
        }
    )
    try:
        partitions = consumer.list_topics(topic, 10).topics[topic].partitions
        consumer.assign(
            [
                TopicPartition(topic, number, watermarks(consumer, TopicPartition(topic, number))[0])
                for number in partitions
            ]
        )
        unread, found = set(partitions), []
        while unread:
            for message in consumer.consume(1_000, 0.05):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
                else:
                    raise AssertionError(error)
        return found
    finally:
        consumer.close()


def watermarks(consumer: Consumer, tp: TopicPartition) -> tuple[int, int]:
    """The first offset and the end; a topic that was just made has no leader for a moment."""

    def asked() -> tuple[int, int] | None:
        with suppress(KafkaException):
            return consumer.get_watermark_offsets(tp, 10)
        return None

    return until(asked, f"the bounds of {tp}")


def value(message: Message) -> Any:
    """The record's JSON."""
    return orjson.loads(message.value() or b"null")
