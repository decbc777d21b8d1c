"""A Kafka of our own, of one node or three, whose nodes can be ended and started again with what they had.

Each node listens twice: directly, and behind a proxy that can hurt the connections of those who come by it.
"""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import broker, children
from tests.faults.proxy import Proxy
from tests.waiting import until

HEAP = "-Xmx320m"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
SERVER = """
process.roles=broker,controller
node.id={id}
controller.quorum.voters={voters}
listeners=PLAINTEXT://localhost:{port},PROXIED://localhost:{behind},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port},PROXIED://localhost:{proxied}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
group.min.session.timeout.ms=2000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
log.cleaner.backoff.ms=500
"""


@dataclass
class Node:
    """One broker, which is a controller too."""

    id: int
    scratch: Path
    jars: Path
    port: int
    controller: int
    proxy: Proxy
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0

    @property
    def properties(self) -> Path:
        return self.scratch / f"node-{self.id}.properties"

    @property
    def data(self) -> Path:
        return self.scratch / f"data-{self.id}"

    def format(self, voters: str, replicas: int) -> None:
        """Make its directory."""
        data, in_sync = self.data, max(1, replicas - 1)
        ports = {"port": self.port, "controller": self.controller}
        ports |= {"behind": self.proxy.target, "proxied": self.proxy.port}
        text = SERVER.format(id=self.id, voters=voters, data=data, replicas=replicas, in_sync=in_sync, **ports)
        self.properties.write_text(text)
        storage = ["java", "-cp", f"{self.jars}/*", "kafka.tools.StorageTool", "format"]
        subprocess.run([*storage, "-t", CLUSTER, "-c", str(self.properties)], capture_output=True, check=True)

    def launch(self) -> None:
        """Start it, and do not wait."""
        self.starts += 1
        with (self.scratch / f"node-{self.id}-{self.starts}.log").open("wb") as log:
            command = ["java", HEAP, "-cp", f"{self.jars}/*", "kafka.Kafka", str(self.properties)]
            self.process = children.start(command, stdout=log, stderr=log, cwd=self.scratch)

    def await_up(self) -> None:
        process = self.process
        assert process is not None
        until(lambda: process.poll() is not None or broker.listens(self.port), "Kafka listens", seconds=60)
        assert process.poll() is None, "Kafka did not start"

    def end(self, clean: bool) -> None:
        """As told to, or as in a power cut."""
        assert self.process is not None
        (self.process.terminate if clean else self.process.kill)()
        self.process.wait(60)

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


@dataclass
class Kafka:
    """One node or three, as one."""

    scratch: Path
    jars: Path
    count: int
    nodes: list[Node] = field(init=False)

    def __post_init__(self) -> None:
        ports = iter(broker.free_ports(4 * self.count))
        self.nodes = [
            Node(number, self.scratch, self.jars, next(ports), next(ports), Proxy(next(ports), next(ports)))
            for number in range(1, self.count + 1)
        ]
        voters = ",".join(f"{node.id}@localhost:{node.controller}" for node in self.nodes)
        for node in self.nodes:
            node.format(voters, self.count)
            node.proxy.start()

    @property
    def servers(self) -> str:
        return ",".join(f"localhost:{node.port}" for node in self.nodes)

    @property
    def proxied(self) -> str:
        """For those whose connections are to be hurt."""
        return ",".join(f"localhost:{node.proxy.port}" for node in self.nodes)

    def start(self) -> None:
        for node in self.nodes:
            node.launch()
        self.await_up()

    def await_up(self) -> None:
        """Until every node answers, and groups have a coordinator."""
        for node in self.nodes:
            node.await_up()
        until(lambda: broker.coordinates(self.servers), "Kafka coordinates groups", seconds=90)

    def restart(self, number: int, clean: bool) -> None:
        """One node."""
        self.nodes[number].end(clean)
        self.nodes[number].launch()
        self.await_up()

    def leader(self) -> Node:
        """The active controller, as the node of the latest epoch knows it."""
        files = [node.data / "__cluster_metadata-0/quorum-state" for node in self.nodes]
        states = [json.loads(file.read_text()) for file in files]
        return self.nodes[max(states, key=lambda state: state["leaderEpoch"])["leaderId"] - 1]

    def stop(self) -> None:
        for node in self.nodes:
            if node.process is not None:
                node.end(clean=False)
            node.proxy.stop()


@contextmanager
def own(scratch: Path, count: int = 1) -> Iterator[Kafka]:
    """A Kafka that is there for the block."""
    scratch.mkdir(parents=True, exist_ok=True)
    made = Kafka(scratch, broker.kafka_jars(), count)
    try:
        made.start()
        yield made
    finally:
        made.stop()
