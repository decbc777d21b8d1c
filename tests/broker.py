"""A real Apache Kafka for the tests: one that is there, or one of our own from Maven's jars.

Law: a test never runs on something that only looks like Kafka; where there is none it is skipped with the reason, and
where `CI` is set it fails.
"""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests import children
from tests.waiting import until

REPOSITORY = Path(__file__).resolve().parent.parent
POM = REPOSITORY / "tests/kafka/pom.xml"
JARS = REPOSITORY / ".kafka/libs"
HEAP = "-Xmx512m"

ALONE = """
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
"""
SERVER = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
"""


class NoKafka(Exception):
    """Why there is none."""


@contextmanager
def kafka() -> Iterator[str]:
    """The bootstrap servers of a broker; our own is ended when the block is."""
    there = os.environ.get("KAFKA_BOOTSTRAP_SERVERS")
    if there:
        yield there
        return
    jars = kafka_jars()
    with tempfile.TemporaryDirectory(prefix="kafka-") as scratch:
        process, servers = _start(jars, Path(scratch))
        try:
            yield servers
        finally:
            process.kill()
            process.wait()


def kafka_jars() -> Path:
    """The directory of Kafka's jars; Maven fetches them once for this checkout."""
    java = shutil.which("java")
    if java is None or _java_version(java) < 17:
        raise NoKafka("Kafka needs Java 17 or newer")
    if not JARS.is_dir():
        if shutil.which("mvn") is None:
            raise NoKafka("Kafka's jars come by Maven, and there is no `mvn`")
        JARS.parent.mkdir(exist_ok=True)
        with (JARS.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not JARS.is_dir():
                _fetch_jars()
    return JARS


def _fetch_jars() -> None:
    coming = JARS.with_name("coming")
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={coming}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoKafka(f"Maven could not fetch Kafka: {(done.stdout + done.stderr)[-500:]}")
    coming.rename(JARS)


def _java_version(java: str) -> int:
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    try:
        return int(said.split('"')[1].split(".")[0])
    except (IndexError, ValueError):
        return 0


def _start(jars: Path, scratch: Path) -> tuple[subprocess.Popen[bytes], str]:
    port, controller = free_ports(2)
    return start(jars, scratch, SERVER.format(port=port, controller=controller, data=scratch / "data"), port)


def start(
    jars: Path, scratch: Path, properties: str, port: int, options: Iterable[str] = ()
) -> tuple[subprocess.Popen[bytes], str]:
    """A broker with these properties and no other beside it, once the port, one for plain text, is served; its process
    and that address. `options` are for the formatting of its storage."""
    written = scratch / "server.properties"
    written.write_text(properties + ALONE)
    java = ["java", "-cp", f"{jars}/*"]
    storage = [*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(written), *options]
    done = subprocess.run(storage, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoKafka(f"Kafka could not format its storage: {(done.stdout + done.stderr)[-500:]}")
    log = (scratch / "kafka.log").open("wb")
    process = children.start(
        [java[0], HEAP, *java[1:], "kafka.Kafka", str(written)], stdout=log, stderr=log, cwd=scratch
    )
    try:
        until(lambda: process.poll() is not None or listens(port), f"Kafka listens on {port}", seconds=60)
    except BaseException:
        process.kill()
        raise
    if process.poll() is not None:
        raise NoKafka(f"Kafka did not start: {(scratch / 'kafka.log').read_text()[-500:]}")
    servers = f"localhost:{port}"
    until(lambda: process.poll() is not None or coordinates(servers), "Kafka coordinates groups", seconds=60)
    return process, servers


def coordinates(servers: str) -> bool:
    """Whether groups have a coordinator: the first question makes the topic that it needs, and is not answered yet."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "nobody"})
    try:
        consumer.committed([TopicPartition("nothing", 0)], 5)
    except KafkaException:
        return False
    finally:
        consumer.close()
    return True


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on; all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def listens(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    with socket.socket() as one:
        return one.connect_ex(("localhost", port)) == 0


@cache
def admin_of(servers: str) -> AdminClient:
    """One for all questions; it finds a broker again that was away."""
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def ends(servers: str, topics: Iterable[str], committed: bool) -> dict[tuple[str, int], int]:
    """The end of each partition; for a reader of committed records, where the first open transaction begins."""
    admin = admin_of(servers)
    known = admin.list_topics(timeout=20).topics
    tps = [TopicPartition(topic, number) for topic in topics if topic in known for number in known[topic].partitions]
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    asked = admin.list_offsets({tp: OffsetSpec.latest() for tp in tps}, isolation_level=level)
    return {(tp.topic, tp.partition): future.result(20).offset for tp, future in asked.items()}
