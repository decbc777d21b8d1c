"""Inputs from a seed: documents, signals, commit events and bad records, in whatever order, by several producers.

Law: a run's documents all come through one partitioner, so that which is the newest is known; nothing else is in order.
"""

import hashlib
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Producer

from tests.faults.logs import QUIET

TOGETHER = 300  # runs that are written about at a time
JAVA, C = "murmur2_random", "consistent_random"
PAUSE = threading.Event()  # never set


@dataclass
class Generator:
    """An endless stream of (topic, key, value, partitioner)."""

    rng: random.Random
    runs: int = 0
    signals: int = 0
    said: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)  # lately, to be repeated
    recorded: set[str] = field(default_factory=set)

    def records(self) -> Iterator[tuple[str, bytes | None, bytes | None, str]]:
        while True:
            if self.runs < 20 or self.rng.random() < 0.02:
                self.runs += 1
            kind = self.rng.choices(("signal", "document", "event", "again", "bad", "forget"), (60, 14, 8, 8, 6, 1))[0]
            yield getattr(self, kind)()

    def run(self) -> int:
        return self.rng.randrange(max(0, self.runs - TOGETHER), self.runs)

    def partitioner(self) -> str:
        return self.rng.choice((JAVA, C))

    def one_signal(self, kind: str) -> dict[str, Any]:
        self.signals += 1
        day, hour, minute = self.rng.randint(1, 28), self.rng.randint(0, 23), self.rng.randint(0, 59)
        at = f"2023-09-{day:02}T{hour:02}:{minute:02}:{self.rng.randint(0, 59):02}"
        at += self.rng.choice(("Z", ".5Z", "+02:00"))
        signal: dict[str, Any] = {"id": f"sig_{self.signals}", "kind": kind, "observed_at": at}
        signal |= {"tier": self.rng.choice(("verified", "reported", "asserted")), "source": {"kind": "ci"}}
        if kind == "verdict":
            name = self.rng.choice(("tests", "review"))
            return signal | {"name": name, "value": self.rng.choice(("pass", "pass", "accept", "fail", "error"))}
        if kind == "score":
            return signal | {"name": "coverage", "value": self.rng.choice((None, 0.5, 0.8, 0.9))}
        return signal | {"name": self.rng.choice(("revert", "incident", "note")), "value": "seen"}

    def signal(self) -> tuple[str, bytes | None, bytes | None, str]:
        run = f"run_{self.run()}"
        signal = self.one_signal(self.rng.choices(("verdict", "score", "event"), (16, 3, 1))[0])
        self.remember("signals", run, signal)
        return "signals", run.encode(), encoded(signal), self.partitioner()

    def remember(self, topic: str, key: str, signal: dict[str, Any]) -> None:
        self.said.append((topic, key, signal))
        del self.said[:-200]

    def again(self) -> tuple[str, bytes | None, bytes | None, str]:
        """A repetition."""
        if not self.said:
            return self.signal()
        topic, key, signal = self.rng.choice(self.said)
        return topic, key.encode(), encoded(signal), self.partitioner()

    def event(self) -> tuple[str, bytes | None, bytes | None, str]:
        """About a commit of a run; whole or cut off, recorded already or not."""
        sha = sha_of(self.run())
        key = self.rng.choice((sha, sha[:12], sha[:12].upper()))
        signal = self.one_signal("event")
        self.remember("commit-events", key, signal)
        return "commit-events", key.encode(), encoded(signal), self.partitioner()

    def document(self) -> tuple[str, bytes | None, bytes | None, str]:
        run = self.run()
        rule: dict[str, Any] = {"name": "r", "definition": "d", "requires": ["tests", "review"][: 1 + run % 2]}
        if run % 5 == 0:
            rule["score"] = {"name": "coverage", "target": 0.75, "better": "higher"}
        return "runs", f"run_{run}".encode(), self.document_of(f"run_{run}", sha_of(run), rule), (JAVA, C)[run % 2]

    def document_of(self, run_id: str, sha: str, rule: dict[str, Any] | None = None) -> bytes:
        """A document that names a commit and has a signal or two."""
        artifact = {"id": "a", "path": sha, "kind": {"value": "commit", "tier": "verified"}, "producer": "a1"}
        artifact |= {"writers": ["a1"], "consumers": [], "first_write_at": None, "n_writes": 1, "n_reads": 0}
        inside = [self.one_signal("verdict") for _ in range(self.rng.choice((0, 0, 1, 2)))]
        if inside and self.rng.random() < 0.1:
            inside[0]["value"] = "PASS"  # bad: that one goes to the dead letters, the document is applied
        body: dict[str, Any] = {"id": run_id, "title": f"title {self.rng.randint(0, 9)}", "signals": inside}
        body |= {"ended_at": "2023-09-14T12:00:00Z"}
        body |= {"acceptance_rule": rule or {"name": "r", "definition": "d", "requires": ["tests"]}}
        document = {"ocp": "0.3", "producer": {"name": "t"}, "privacy": {"profile": "metadata_only"}, "run": body}
        return encoded(document | {"nodes": [{"id": "n", "kind": "impl"}], "artifacts": [artifact]})

    def forget(self) -> tuple[str, bytes | None, bytes | None, str]:
        """Of runs that have documents only, recorded and forgotten in turns: their order is known."""
        run = f"gone_{self.rng.randrange(20)}"
        if self.rng.random() < 0.3 and run in self.recorded:
            return "runs", run.encode(), None, JAVA
        self.recorded.add(run)
        inside = [{**self.one_signal("verdict"), "name": "tests"}]
        body = {
            "id": run,
            "acceptance_rule": {"name": "r", "definition": "d", "requires": ["tests"]},
            "signals": inside,
        }
        document = {"ocp": "0.3", "producer": {"name": "t"}, "privacy": {"profile": "metadata_only"}, "run": body}
        return "runs", run.encode(), encoded(document | {"nodes": [{"id": "n", "kind": "impl"}]}), JAVA

    def bad(self) -> tuple[str, bytes | None, bytes | None, str]:
        key = f"run_{self.run()}".encode()
        good = self.one_signal("verdict")
        topic, key_, value = self.rng.choice(
            (
                ("signals", key, b"{"),
                ("signals", key, b"\xff\xfe"),
                ("signals", None, encoded(good)),
                ("signals", key, encoded(good | {"value": "PASS"})),
                ("signals", key, encoded(good | {"observed_at": "yesterday"})),
                ("signals", key, None),
                ("commit-events", b"main", encoded(self.one_signal("event"))),
                ("runs", key, b'{"ocp": "0.2"}'),
            )
        )
        return topic, key_, value, self.partitioner()


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def sha_of(run: int) -> str:
    """Each run's commit; no two begin alike."""
    return f"{run:08x}" + hashlib.sha1(str(run).encode()).hexdigest()[:32]


@dataclass
class Load:
    """Writes in a thread of its own: every third chunk in a transaction, every other of those is aborted."""

    servers: str
    prefix: str
    seed: int
    seconds_between: float = 0.2
    chunk_size: int = 50
    stopped: threading.Event = field(default_factory=threading.Event)
    written: int = 0
    aborted: int = 0
    failed: BaseException | None = None

    def __post_init__(self) -> None:
        self.source = Generator(random.Random(self.seed)).records()
        self.plain = {name: self.producer(name) for name in (JAVA, C)}
        self.transactional: dict[str, Producer] = {}
        self.thread = threading.Thread(target=self.write, daemon=True)

    def producer(self, partitioner: str, **more: Any) -> Producer:
        settings = {"bootstrap.servers": self.servers, "partitioner": partitioner, "linger.ms": 5, **QUIET}
        return Producer({**settings, "enable.idempotence": True, **more})

    def start(self) -> "Load":
        self.thread.start()
        return self

    def stop(self) -> None:
        """End with what is written acknowledged."""
        self.stopped.set()
        self.thread.join(90)
        assert not self.thread.is_alive(), "the load could not end"
        if self.failed is not None:
            raise self.failed

    def write(self) -> None:
        number = 0
        try:
            while not self.stopped.is_set():
                self.chunk(number)
                number += 1
                PAUSE.wait(self.seconds_between)
        except Exception as error:  # noqa: BLE001 - `stop` raises it
            self.failed = error
        finally:  # while there is a broker: librdkafka would wait for one for ever
            self.plain, self.transactional = {}, {}

    def chunk(self, number: int) -> None:
        records = [next(self.source) for _ in range(self.chunk_size)]
        if number % 3 != 2:
            for topic, key, value, partitioner in records:
                self.plain[partitioner].produce(self.prefix + topic, key=key, value=value)
            for producer in self.plain.values():
                producer.flush(60)
            self.written += len(records)
            return
        abort = number % 6 == 5
        try:
            self.transaction(records, abort)
        except KafkaException:  # the broker went away: those that come next have new producers
            self.transactional = {}
            return
        count = len(records)
        self.written, self.aborted = self.written + count * (not abort), self.aborted + count * abort

    def transaction(self, records: list[tuple[str, bytes | None, bytes | None, str]], abort: bool) -> None:
        if not self.transactional:
            for name in (JAVA, C):
                self.transactional[name] = self.producer(name, **{"transactional.id": f"{self.prefix}{name}"})
                self.transactional[name].init_transactions(30)
        for producer in self.transactional.values():
            producer.begin_transaction()
        for topic, key, value, partitioner in records:
            self.transactional[partitioner].produce(self.prefix + topic, key=key, value=value)
        for producer in self.transactional.values():
            producer.flush(30)
        for producer in self.transactional.values():
            (producer.abort_transaction if abort else producer.commit_transaction)(30)
