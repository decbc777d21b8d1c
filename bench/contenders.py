"""The product and its peers, each as a process on the same inputs."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from processor import record, topics_admin
from processor.settings import Settings
from tests import children
from tests.broker import REPOSITORY

PARTITIONS = 4
STREAMS = REPOSITORY / "bench/peers/streams"
QUIX = REPOSITORY / ".venv-quix/bin/python"
CHAIN = (record.RUN_INPUTS, record.COMMIT_INDEX)


@dataclass(frozen=True)
class Setting:
    """Where a contender runs: which broker, whose inputs, whose outputs."""

    servers: str
    given: str  # prefix of the inputs
    tag: str
    scratch: Path

    @property
    def prefix(self) -> str:
        """Of everything that this one writes."""
        return f"{self.tag}."

    def product(self) -> dict[str, str]:
        """The product's settings."""
        inputs = {f"topic_{topic.replace('-', '_')}": f"{self.given}{topic}" for topic in record.INPUTS}
        names = {"kafka_bootstrap_servers": self.servers, "application_id": self.tag, "topic_prefix": self.prefix}
        return inputs | names | {"settle_grace_seconds": str(100 * 365 * 86_400)}

    def create_topics(self) -> None:
        """Those that this one writes to, whichever contender it is, made as the product makes them."""
        settings = Settings.model_validate(self.product() | {"topic_partitions": PARTITIONS})
        plans = topics_admin.plan(settings)
        new = [NewTopic(p.name, PARTITIONS, 1, config=dict(p.config)) for p in plans if p.name.startswith(self.tag)]
        new += [NewTopic(f"{self.prefix}{topic}", PARTITIONS, 1) for topic in CHAIN]
        admin = AdminClient({"bootstrap.servers": self.servers})  # its futures are answered only while it is there
        for future in admin.create_topics(new).values():
            future.result(30)


@dataclass(frozen=True)
class Contender:
    """A program, and what it does of the job."""

    name: str
    start: Callable[[Setting], list[list[str]]]  # the commands of its processes
    whole: bool = True  # the product's own pure step, with commit events
    records: float = 1.0  # the share of the records that it is given: what is slow need not do all
    environment: Callable[[Setting], dict[str, str]] = field(default=lambda _: {})

    def launch(self, setting: Setting) -> list[subprocess.Popen[bytes]]:
        """Its processes."""
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY)} | self.environment(setting)
        started = []
        for number, command in enumerate(self.start(setting)):
            with (setting.scratch / f"{setting.tag}-{number}.log").open("wb") as log:
                started.append(children.start(command, cwd=setting.scratch, env=environment, stdout=log, stderr=log))
        return started

    def topics(self, setting: Setting) -> list[str]:
        """What its group reads, its own chain with it."""
        if not self.whole:
            return [f"{setting.given}{topic}" for topic in (record.RUNS, record.SIGNALS)]
        own = f"{setting.tag}-" if self.name.startswith("this") else setting.prefix
        return [f"{setting.given}{topic}" for topic in record.INPUTS] + [f"{own}{topic}" for topic in CHAIN]


def product(workers: int) -> Contender:
    """This product, the whole contract, transactions on."""

    def start(_setting: Setting) -> list[list[str]]:
        return [[sys.executable, "-m", "processor", "worker"]] * workers

    def environment(setting: Setting) -> dict[str, str]:
        return {name.upper(): value for name, value in setting.product().items()}

    return Contender(f"this, {workers} worker{'s' * (workers > 1)}", start, environment=environment)


def faust() -> Contender:
    """Plain Faust."""

    def start(setting: Setting) -> list[list[str]]:
        own = [setting.servers, setting.tag, setting.given, setting.prefix, str(PARTITIONS)]
        return [[sys.executable, "-m", "bench.peers.faust_events", *own]]

    return Contender("Faust, per event", start, records=0.02)


def quix() -> Contender:
    """Quix Streams, in its own environment."""

    def start(setting: Setting) -> list[list[str]]:
        own = [setting.servers, setting.tag, setting.given, setting.prefix, str(setting.scratch / setting.tag)]
        return [[str(QUIX), "-m", "bench.peers.quix_events", *own]]

    return Contender("Quix Streams, tuned", start, records=0.2)


def streams(guarantee: str, how: str, threads: int) -> Contender:
    """Kafka Streams, built by Maven."""

    def start(setting: Setting) -> list[list[str]]:
        path = f"{STREAMS}/target/classes:{STREAMS}/target/dependency/*"
        own = [setting.servers, setting.tag, setting.given, setting.prefix, guarantee, how, str(threads)]
        return [["java", "-Xmx2g", "-cp", path, "Acceptance", *own, str(setting.scratch / setting.tag)]]

    named = {"eos": "exactly_once_v2", "alo": "at least once"}[guarantee]
    return Contender(f"Kafka Streams, {named}, {how}, {threads} thread{'s' * (threads > 1)}", start, whole=False)


CONTENDERS = {
    "product": product(1),
    "product-2": product(2),
    "faust": faust(),
    "quix": quix(),
    "streams-eos-tuned": streams("eos", "tuned", 1),
    "streams-eos-tuned-2": streams("eos", "tuned", 2),
    "streams-eos-defaults": streams("eos", "defaults", 1),
    "streams-alo-tuned": streams("alo", "tuned", 1),
    "streams-alo-defaults": streams("alo", "defaults", 1),
}
