"""Workers as processes, what strikes them, and the proof that it struck.

Law: a strike counts only when work was under way (I7): positions had moved since the one before it, and there was lag.
"""

import json
import os
import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.broker import ends
from tests.e2e.world import Worker, World
from tests.faults.brokers import Kafka
from tests.faults.load import Load
from tests.faults.logs import QUIET, group_offsets
from tests.faults.verifier import INPUTS, INTERNAL, Verifier
from tests.waiting import until

PACE = {"BATCH_MAX_RECORDS": "60", "SESSION_TIMEOUT_SECONDS": "2", "REBALANCE_TIMEOUT_SECONDS": "6"}
SLOW = ("--slow", "0.15")  # seconds each batch waits, so that a strike comes in the middle of something
EXPECTED = {0, 69, 75, -signal.SIGKILL}  # left when told to; fenced or without a broker; struck
OWNED_BY_ANOTHER = "another worker owns this partition now"
MOST_MISSED = 10
CHANCE = threading.Event()  # never set: the time that a fault lasts, or a random time to a strike


@dataclass
class Field(World):
    """A world whose workers can be struck."""

    nodes: Kafka | None = None
    seed: int = 0
    long_seconds: float = 60  # that a long fault lasts
    settle_seconds: float = 120  # until no lag is left after the last fault
    rng: random.Random = field(default_factory=random.Random)
    strikes: Counter[str] = field(default_factory=Counter)
    missed: int = 0  # strikes that hit nothing, and so do not count
    violations: list[str] = field(default_factory=list)
    crew: dict[int, Worker] = field(default_factory=dict)
    arguments: tuple[str, ...] = SLOW
    exits: Counter[int] = field(default_factory=Counter)
    moved: int = 0
    load: Load = field(init=False)
    verifier: Verifier = field(init=False)

    def __post_init__(self) -> None:
        self.module, self.environment = "tests.faults.worker", {**PACE, **self.environment}
        self.rng = random.Random(self.seed)
        self.verifier = Verifier(self.servers, self.tag, f"{self.tag}.")
        self.load = Load(self.servers, f"{self.tag}.", self.seed)

    @property
    def kafka(self) -> Kafka:
        assert self.nodes is not None
        return self.nodes

    # --- workers ---------------------------------------------------------------------------------

    def muster(self, count: int) -> None:
        """So many workers, all serving or about to."""
        for place in range(count):
            self.crew[place] = self.worker(*self.arguments)

    def revive(self) -> None:
        """Start those again that ended; an end that a worker must not come to is a violation."""
        for place, worker in self.crew.items():
            if worker.process.poll() is not None:
                self.note_end(worker)
                self.crew[place] = self.worker(*self.arguments)

    def note_end(self, worker: Worker) -> None:
        code = worker.process.returncode
        self.exits[code] += 1
        if code == -signal.SIGTERM and "serving" not in worker.said():
            return  # told to leave before it was there
        if code not in EXPECTED:
            self.violations.append(f"I6: a worker ended with {code}: {worker.said()[-400:]}")

    def expect_end(self, worker: Worker, code: int, sentence: str) -> None:
        """This worker ends so, and says this; anything else is a violation."""
        until(lambda: worker.process.poll() is not None, f"the worker ends; it said\n{worker.said()}", 60)
        if worker.process.returncode != code or sentence not in worker.said():
            what = f"expected exit {code} and {sentence!r}, got {worker.process.returncode}: {worker.said()[-600:]}"
            self.violations.append(f"I5: {what}")

    def end(self, worker: Worker) -> None:
        """SIGTERM; it is gone within 10 s."""
        if worker.process.poll() is None:
            worker.send(signal.SIGTERM)
        try:
            worker.process.wait(10)
        except subprocess.TimeoutExpired:
            self.violations.append(f"I6: a worker did not stop in time: {worker.said()[-400:]}")
            worker.kill()
        self.note_end(worker)

    # --- strikes ---------------------------------------------------------------------------------

    def position(self) -> int:
        """How far the group has come, all inputs together; 0 while the broker cannot say."""
        with suppress(KafkaException, TimeoutError):
            return sum(self.offsets().values())
        return 0

    def offsets(self) -> dict[tuple[str, int], int]:
        """What the group has committed."""
        return group_offsets(self.servers, self.tag, map(self.name, (*INPUTS, *INTERNAL)))

    def behind(self) -> int:
        """How many offsets of the public inputs the group has not committed."""
        at = self.offsets()
        end = ends(self.servers, [self.name(topic) for topic in INPUTS], committed=False)
        return sum(offset - at.get(tp, 0) for tp, offset in end.items())

    def await_progress(self, seconds: float = 60, condition: Callable[[], bool] = lambda: True) -> None:
        """Wait until work goes on after the last strike, and for something more."""

        def going_on() -> bool:
            self.revive()
            return self.position() > self.moved and condition()

        try:
            until(going_on, f"{self.tag} goes on", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; the workers said\n{self.last_words()}") from None

    def last_words(self) -> str:
        return "\n".join(f"{place}: {worker.said()[-600:]}" for place, worker in self.crew.items())

    def about_to_strike(self, most_seconds: float = 1.5) -> bool:
        """At a random time, once work goes on. Whether the strike will count."""
        self.await_progress()
        CHANCE.wait(self.rng.uniform(0, most_seconds))
        return self.position() > self.moved and self.behind() > 0

    def until_struck(self, times: int) -> Iterator[int]:
        """Numbers from 0 until so many strikes have counted, or far too many have not."""
        number, first = 0, self.strikes.total()
        while self.strikes.total() < first + times and self.missed < MOST_MISSED + times:
            yield number
            number += 1

    def strike(self, times: int, workers: int, fault: Callable[[int], str]) -> None:
        """So many workers, so many strikes while they are at work, each of which says its name; then the verdict."""
        self.muster(workers)
        self.load.start()
        for number in self.until_struck(times):
            hits = self.about_to_strike()
            self.struck(fault(number), hits)
        self.settle()

    def struck(self, what: str, hits: bool) -> None:
        """Note a strike; the next counts only when work went on after this one."""
        self.strikes[what] += hits
        self.missed += not hits
        self.moved = self.position()

    def let_pass(self, seconds: float) -> None:
        """A fault lasts."""
        CHANCE.wait(seconds)

    def commit(self, offsets: list[TopicPartition]) -> None:
        """Set the group's offsets, as an operator can."""
        settings = {"bootstrap.servers": self.servers, "group.id": self.tag, "enable.auto.commit": False, **QUIET}
        consumer = Consumer(settings)
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        finally:
            consumer.close()

    def delete_group(self) -> None:
        """Stop the workers and delete the group."""
        self.dismiss()

        def deleted() -> bool:
            with suppress(KafkaException, TimeoutError):
                self.admin.delete_consumer_groups([self.tag])[self.tag].result(20)
                return True
            return False

        until(deleted, "the group is gone", 30)

    def look(self) -> None:
        """I4, in the middle of it all."""
        self.violations += self.verifier.look()

    # --- the end ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Stop the load, see the lag go, stop the workers, verify."""
        self.load.stop()

        def worked_off() -> bool:
            self.revive()
            with suppress(KafkaException, TimeoutError):
                done = self.is_settled((*INPUTS, *INTERNAL))
                return done and (not self.verifier.settling or self.verifier.has_settled())
            return False

        try:
            until(worked_off, "the lag is gone", self.settle_seconds)
        except AssertionError:
            self.violations.append(f"I6: the lag is not gone after {self.settle_seconds:g} s:\n{self.last_words()}")
        self.dismiss()
        self.violations += self.verifier.verify()

    def dismiss(self) -> None:
        """SIGTERM to all; each is gone within 10 s."""
        for worker in self.crew.values():
            if worker.process.poll() is None:
                worker.send(signal.SIGTERM)
        for worker in self.crew.values():
            self.end(worker)
        self.crew = {}

    def fenced(self) -> int:
        """How many workers were stopped by a newer owner's fence."""
        return sum(OWNED_BY_ANOTHER in worker.said() for worker in self.workers)

    def report(self) -> dict[str, object]:
        """The figures of this run."""
        return {
            "strikes": dict(self.strikes),
            "missed": self.missed,
            "inputs": self.verifier.inputs(),
            "aborted": self.load.aborted,
            "exits": {str(code): n for code, n in self.exits.items()},
            "fenced": self.fenced(),
            "violations": len(self.violations),
        }


def new_field(kafka: Kafka, scratch: Path, seed: int, name: str, long_seconds: float = 60) -> Field:
    """A field with topics and a load that is not running yet."""
    scratch.mkdir(parents=True, exist_ok=True)
    tag = f"{name}-{seed}-{os.getpid()}"
    made = Field(kafka.servers, scratch, tag=tag, replicas=kafka.count, nodes=kafka, seed=seed)
    made.long_seconds = long_seconds
    made.create()
    return made


def configure(here: Field, topic: str, settings: dict[str, str]) -> None:
    """Set a topic's configuration."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    here.admin.incremental_alter_configs([resource])[resource].result(20)


def line(name: str, seed: int, report: dict[str, object]) -> str:
    return f"{name} seed {seed}: {json.dumps(report)}"
