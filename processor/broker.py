"""What the short commands share: connections that are closed whatever happens, and a failure said in one sentence."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from io import TextIOWrapper
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError

from processor.settings import Settings

REQUEST_TIMEOUT_MS = 20_000


class Failure(Exception):
    """A command cannot go on. The text says what was wrong, where, and what to do; the code is that of sysexits."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def run(command: Coroutine[Any, Any, int]) -> int:
    """Run a command to its end and give its exit code; what stops it goes to standard error, in a sentence."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it logs what is said below
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that has no “→” gets an escape, not a traceback
    try:
        return asyncio.run(command)
    except Failure as failure:
        print(f"acceptance: {failure}", file=sys.stderr)
        return failure.code
    except KafkaError as error:
        print(f"acceptance: the broker failed: {error!r}. Try again when it is well", file=sys.stderr)
        return os.EX_TEMPFAIL


@asynccontextmanager
async def admin(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """A started admin client. Raises `Failure` when no broker answers."""
    client = AIOKafkaAdminClient(
        bootstrap_servers=settings.kafka_bootstrap_servers, request_timeout_ms=REQUEST_TIMEOUT_MS
    )
    try:
        await _reach(client.start(), settings)
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def producer(settings: Settings, **options: Any) -> AsyncIterator[AIOKafkaProducer]:
    """A started producer. aiokafka's own partitioner puts a key where Java's murmur2 does."""
    client = AIOKafkaProducer(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        acks="all",
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        **options,
    )
    try:
        await _reach(client.start(), settings)
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def consumer(settings: Settings, **options: Any) -> AsyncIterator[AIOKafkaConsumer]:
    """A started consumer of committed records, in no group: it reads what it is assigned."""
    client = AIOKafkaConsumer(
        bootstrap_servers=settings.kafka_bootstrap_servers,
        isolation_level="read_committed",
        enable_auto_commit=False,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        **options,
    )
    try:
        await _reach(client.start(), settings)
        yield client
    finally:
        await client.stop()


async def _reach(starting: Coroutine[Any, Any, None], settings: Settings) -> None:
    try:
        await starting
    except (KafkaConnectionError, OSError) as error:
        raise Failure(
            os.EX_UNAVAILABLE,
            f"no broker answers at {settings.kafka_bootstrap_servers}. "
            "Is it running, and is KAFKA_BOOTSTRAP_SERVERS right?",
        ) from error
