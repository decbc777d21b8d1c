"""A topic as it is, for the short commands: its partitions, and what is committed in them."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from typing import Final

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from processor import broker, permissions
from processor.failure import Failure
from processor.metadata import describe
from processor.partitioner import partition_of
from processor.settings import Settings

STALL_SECONDS: Final = 20.0


async def partitions(settings: Settings, logical: str, key: bytes | None = None) -> dict[TopicPartition, int]:
    """A topic's partitions, or the one of this key, each to be read from its first offset. Raises `Failure` when there
    is no such topic."""
    name = settings.topic(logical)
    async with broker.admin(settings) as client:
        await permissions.require(client, settings, permissions.on_topics(settings, "Read", logical))
        [found] = await describe(client, [name])
    count = len(found["partitions"])
    if not count:
        raise Failure(
            os.EX_CONFIG,
            f"no topic {name} on {settings.kafka_bootstrap_servers}. Is TOPIC_PREFIX right? "
            "`acceptance topics apply` makes what is missing",
        )
    numbers = range(count) if key is None else [partition_of(key, count)]
    return {TopicPartition(name, number): 0 for number in numbers}


async def everything(consumer: AIOKafkaConsumer, start: Mapping[TopicPartition, int]) -> AsyncIterator[ConsumerRecord]:
    """What is committed in these partitions, from these offsets to the present end. Raises `Failure` when it stalls."""
    consumer.assign(list(start))
    first, ends = await consumer.beginning_offsets(list(start)), await consumer.end_offsets(list(start))
    for tp, offset in start.items():
        consumer.seek(tp, max(offset, first[tp]))
    clock = asyncio.get_running_loop().time
    moved = clock()
    while todo := [tp for tp in start if await consumer.position(tp) < ends[tp]]:
        batches = await consumer.getmany(*todo, timeout_ms=500)
        for tp, records in batches.items():
            for record in records:
                if record.offset < ends[tp]:
                    yield record
        if batches:
            moved = clock()
        elif clock() - moved > STALL_SECONDS:
            raise Failure(os.EX_TEMPFAIL, f"{todo[0].topic} could not be read to its end ({ends[todo[0]]}); try again")
