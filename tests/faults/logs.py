"""What is on the broker, read with librdkafka from offset 0 on, each record once, as a reader of committed records."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

QUIET = {"log_level": 0}  # brokers come and go here


class Entry(NamedTuple):
    """A record, where it stands."""

    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def header(entry: Entry, name: str) -> str | None:
    """The first header of this name, as text."""
    return next((None if text is None else text.decode() for known, text in entry.headers if known == name), None)


@dataclass
class Logs:
    """The topics of one application, by their names on the broker."""

    servers: str
    records: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    next: dict[tuple[str, int], int] = field(default_factory=dict)

    def read(self, topics: Iterable[str]) -> None:
        """Read on to the present end of these topics. A topic that is not there has nothing."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "none",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,
                **QUIET,
            }
        )
        try:
            known = consumer.list_topics(timeout=20).topics
            parts = [(topic, number) for topic in topics if topic in known for number in known[topic].partitions]
            consumer.assign([TopicPartition(*part, self.next.get(part, 0)) for part in parts])
            unread = set(parts)
            while unread:
                for message in consumer.consume(2_000, 0.2):
                    self.take(message, unread)
        finally:
            consumer.close()

    def take(self, message: Any, unread: set[tuple[str, int]]) -> None:
        """A record, or the news that a partition is read to its end."""
        part = message.topic(), message.partition()
        error = message.error()
        if error is None:
            kind, stamp = message.timestamp()
            entry = Entry(
                part[1],
                message.offset(),
                stamp if kind else None,
                message.key(),
                message.value(),
                message.headers() or [],
            )
            self.records[part[0]].append(entry)
            self.next[part] = message.offset() + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(part)
        elif not error.retriable() and error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            raise RuntimeError(error)


def group_offsets(servers: str, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offsets that the group has committed. (The admin client's own question ends the process when it fails.)

    Uncommitted reading, or the answer waits until no offset of the group is in an open transaction.
    """
    settings = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, **QUIET}
    settings["isolation.level"] = "read_uncommitted"
    consumer = Consumer(settings)
    try:
        known = consumer.list_topics(timeout=20).topics
        tps = [
            TopicPartition(topic, number) for topic in topics if topic in known for number in known[topic].partitions
        ]
        return {(tp.topic, tp.partition): tp.offset for tp in consumer.committed(tps, 30) if tp.offset >= 0}
    finally:
        consumer.close()
