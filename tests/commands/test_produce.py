"""`acceptance produce`: a file of records onto a broker."""

import asyncio
import json
from collections import defaultdict
from pathlib import Path

from aiokafka import TopicPartition

from processor import broker, topics_admin
from processor.partitioner import partition_of
from processor.settings import Settings
from tests.commands.cli import acceptance


def read_back(settings: Settings, topic: str, count: int) -> dict[int, list[tuple[bytes | None, bytes | None, int]]]:
    """Key, value and timestamp of what is on each partition of a topic, in order."""

    async def read() -> dict[int, list[tuple[bytes | None, bytes | None, int]]]:
        found = defaultdict(list)
        async with asyncio.timeout(20), broker.consumer(settings) as consumer:
            partitions = [TopicPartition(settings.topic(topic), n) for n in range(settings.topic_partitions)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning(*partitions)
            while sum(map(len, found.values())) < count:
                for batch in (await consumer.getmany(timeout_ms=500)).values():
                    for record in batch:
                        found[record.partition].append((record.key, record.value, record.timestamp))
        return found

    return asyncio.run(read())


def a_line(number: int, **members: object) -> str:
    """A signal of one of seven runs."""
    return json.dumps({"topic": "signals", "key": f"run_{number % 7}", "value": number, **members}) + "\n"


def test_each_partition_has_its_keys_in_the_files_order(settings: Settings, tmp_path: Path) -> None:
    """A key goes where Java's murmur2 puts it; the order of a partition is the file's."""
    asyncio.run(topics_admin.apply(settings))
    file = tmp_path / "records.jsonl"
    file.write_text("".join(a_line(number) for number in range(700)) + "\n")
    produced = acceptance(settings, "produce", str(file))
    assert (produced.returncode, produced.stderr) == (0, "")
    assert "700 records" in produced.stdout
    for partition, records in read_back(settings, "signals", 700).items():
        assert {partition_of(key or b"", settings.topic_partitions) for key, _, _ in records} == {partition}
        numbers = [int(value or b"") for _, value, _ in records]
        assert numbers == sorted(numbers)


def test_null_raw_bytes_and_timestamp_arrive_as_given(settings: Settings) -> None:
    """A null is a null on the broker, not the four letters."""
    asyncio.run(topics_admin.apply(settings))
    lines = (
        a_line(0, value=None, timestamp=1_700_000_000_000)
        + '{"topic":"signals","key_base64":"/w==","value_base64":"AP8="}\n'
    )
    assert acceptance(settings, "produce", "-", given=lines).returncode == 0
    records = [record for batch in read_back(settings, "signals", 2).values() for record in batch]
    assert (b"run_0", None, 1_700_000_000_000) in records
    assert (b"\xff", b"\x00\xff") in [(key, value) for key, value, _ in records]


def test_a_line_that_is_no_record_is_named(settings: Settings) -> None:
    """65, and the number of the line."""
    asyncio.run(topics_admin.apply(settings))
    for bad in ("{}\n", "nonsense\n", a_line(1, topic="acceptance")):
        ended = acceptance(settings, "produce", "-", given=a_line(0) + bad)
        assert ended.returncode == 65
        assert "line 2" in ended.stderr


def test_topics_that_are_not_there_are_not_made_by_accident(settings: Settings) -> None:
    """78, and how to make them."""
    ended = acceptance(settings, "produce", "-", given=a_line(0))
    assert ended.returncode == 78
    assert "acceptance topics apply" in ended.stderr


def test_a_file_that_is_not_there(settings: Settings) -> None:
    """66, and its name."""
    asyncio.run(topics_admin.apply(settings))
    ended = acceptance(settings, "produce", "/nowhere/at.all")
    assert ended.returncode == 66
    assert "/nowhere/at.all" in ended.stderr
