"""When a worker must not serve it says why and what to do, and ends with sysexits' code for it."""

import asyncio
import signal
import struct

from aiokafka import AIOKafkaProducer
from aiokafka.record.util import calc_crc32c
from confluent_kafka import TopicPartition
from confluent_kafka.admin import NewTopic

from processor.engine import positions
from processor.record import COMMIT_EVENTS, REVERSED, SIGNALS
from tests.broker import free_ports
from tests.e2e.world import World
from tests.waiting import until

CHANGELOG = "runs-changelog"


def refusal(here: World, code: int = 78, **environment: str) -> str:
    """What a worker says that ends with this code."""
    worker = here.worker("--toy", **environment)
    assert worker.wait_end() == code, worker.said()
    return worker.said()


def served(here: World) -> None:
    """A worker has worked something off and has stopped."""
    here.create()
    here.produce((SIGNALS, b"run_%d" % n, b"{}") for n in range(100))
    worker = here.worker("--toy")
    worker.wait_said("serving")
    here.settle([SIGNALS])
    worker.send(signal.SIGTERM)
    assert worker.wait_end() == 0


def test_a_topic_is_missing(here: World) -> None:
    """A topic that is not there: the worker names it and the command that makes it."""
    here.create(without=[REVERSED])
    said = refusal(here)
    assert f"{here.tag}.acceptance-reversed" in said
    assert "`acceptance topics apply`" in said


def test_partition_counts_differ(here: World) -> None:
    """Topics that are read side by side have different partition counts: the worker lists them."""
    here.create(partitions={SIGNALS: 3})
    said = refusal(here)
    assert f"{here.tag}.signals has 3" in said
    assert f"{here.tag}.runs has 4" in said


def test_pipelines_may_have_different_counts(here: World) -> None:
    """The commit topics may have another partition count than those of runs."""
    here.create(partitions={COMMIT_EVENTS: 3, "commit-index": 3, "commits-changelog": 3})
    worker = here.worker()
    worker.wait_said("serving runs-0, runs-1, runs-2, runs-3, commits-0, commits-1, commits-2:")


def test_the_changelog_was_lost(here: World) -> None:
    """The group has offsets and the changelog is empty: no worker starts from silently empty state."""
    served(here)
    here.recreate(CHANGELOG)
    assert "the changelog was lost" in refusal(here)


def test_the_changelog_was_written_by_another_program(here: World) -> None:
    """Rows without positions are not this program's."""
    here.create()
    here.produce([(CHANGELOG, b"run_1", b"1")])
    assert "has rows and no positions" in refusal(here)


def test_the_storage_format_is_another(here: World) -> None:
    """State of another format is refused, by the number."""
    here.create()
    here.produce([(CHANGELOG, positions.KEY, b'{"format":2,"positions":{}}')])
    assert "storage format 2, this program reads format 1" in refusal(here)


def test_an_input_topic_was_made_anew(here: World) -> None:
    """Positions past the end of an input do not belong to it."""
    served(here)
    here.recreate(SIGNALS)
    assert "which now holds 0 to 0" in refusal(here)


def test_records_expired_while_no_worker_ran(here: World) -> None:
    """Positions before the first offset of an input: what lay between is lost, and the worker says so."""
    served(here)
    here.produce((SIGNALS, b"run_%d" % n, b"{}") for n in range(100))
    ends = here.ends(here.name(SIGNALS))
    deleted = here.admin.delete_records([TopicPartition(here.name(SIGNALS), n, end) for n, end in ends.items()])
    for future in deleted.values():
        future.result(30)
    assert "records expired before they were read" in refusal(here)


def test_records_expire_while_a_worker_runs(here: World) -> None:
    """What expires before a slow worker reads it ends that worker: it does not go on behind the gap."""
    here.create()
    here.produce((SIGNALS, b"run_%d" % n, b"x" * 100_000) for n in range(400))
    worker = here.worker("--toy", "--slow", "3", BATCH_MAX_RECORDS="10")
    worker.wait_said("serving")
    ends = here.ends(here.name(SIGNALS))
    deleted = here.admin.delete_records([TopicPartition(here.name(SIGNALS), n, end) for n, end in ends.items()])
    for future in deleted.values():
        future.result(30)
    assert worker.wait_end(90) == 78
    assert "records expired before they were read" in worker.said()


def test_another_topic_of_the_same_state(here: World) -> None:
    """State that was made from one topic is not gone on with from another."""
    served(here)
    other = f"{here.tag}.other"
    here.admin.create_topics([NewTopic(other, 4, 1)])[other].result(30)
    until(lambda: other in here.admin.list_topics(timeout=10).topics, "the other topic is there")
    assert "Name the same topics" in refusal(here, TOPIC_SIGNALS=other)


def test_no_broker(here: World) -> None:
    """Where no broker answers the worker says so and may be started again (69)."""
    [port] = free_ports(1)
    said = refusal(here, 69, KAFKA_BOOTSTRAP_SERVERS=f"localhost:{port}")
    assert f"localhost:{port}" in said


def test_an_agent_that_fails_ends_the_worker(here: World) -> None:
    """Faust would take the chunk for done and lose it; the process ends instead, and nothing is passed over."""
    here.create()
    here.produce((SIGNALS, b"run_%d" % n, b"{}") for n in range(100))
    worker = here.worker("--toy", "--break", "failing-agent")
    assert worker.wait_end() == 70, worker.said()
    assert "made by the test" in worker.said()
    here.worker("--toy")
    here.settle([SIGNALS])


def test_a_header_whose_name_is_no_text(here: World) -> None:
    """Aiokafka cannot read such a record and would step over it: the worker ends with 65, before it, each time."""
    here.create()
    put_a_header_that_is_no_text(here)
    for _ in range(2):
        assert "a header whose name is not UTF-8" in refusal(here, 65)


def put_a_header_that_is_no_text(here: World) -> None:
    """As another client can: no client for Python writes it, so the bytes are changed after they were made."""

    async def put() -> None:
        async with AIOKafkaProducer(bootstrap_servers=here.servers) as producer:
            batch = producer.create_batch()
            batch.append(timestamp=None, key=b"run_1", value=b"{}", headers=[("@@", b"")])
            made = bytearray(batch._build())
            made[:] = made.replace(b"@@", b"\xff\xfe")
            struct.pack_into(">I", made, 17, calc_crc32c(bytes(made[21:])))  # of a record batch, format 2
            batch._buffer = bytes(made)
            await (await producer.send_batch(batch, here.name(SIGNALS), partition=0))

    asyncio.run(put())
