"""What the short commands share: connections that are closed whatever happens, and a failure said in one sentence."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from io import TextIOWrapper
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaConnectionError, KafkaError, NodeNotReadyError

from processor import connection
from processor.failure import Failure
from processor.settings import Settings

REQUEST_TIMEOUT_MS = 20_000


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


def admin(settings: Settings) -> AbstractAsyncContextManager[AIOKafkaAdminClient]:
    """A started admin client. Raises `Failure` when no broker can be spoken to."""
    client = AIOKafkaAdminClient(**connection.arguments(settings), request_timeout_ms=REQUEST_TIMEOUT_MS)
    return _started(client, client.close, settings)


def producer(settings: Settings, **options: Any) -> AbstractAsyncContextManager[AIOKafkaProducer]:
    """A started producer. aiokafka's own partitioner puts a key where Java's murmur2 does."""
    client = AIOKafkaProducer(
        **connection.arguments(settings), acks="all", request_timeout_ms=REQUEST_TIMEOUT_MS, **options
    )
    return _started(client, client.stop, settings)


def consumer(settings: Settings, **options: Any) -> AbstractAsyncContextManager[AIOKafkaConsumer]:
    """A started consumer of committed records, in no group: it reads what it is assigned."""
    client = AIOKafkaConsumer(
        **connection.arguments(settings),
        isolation_level="read_committed",
        enable_auto_commit=False,
        request_timeout_ms=REQUEST_TIMEOUT_MS,
        **options,
    )
    return _started(client, client.stop, settings)


@asynccontextmanager
async def _started(client: Any, close: Callable[[], Awaitable[None]], settings: Settings) -> AsyncIterator[Any]:
    try:
        try:
            await client.start()
            yield client
        finally:
            await close()
    except (KafkaConnectionError, NodeNotReadyError) as error:
        raise await connection.why_not(settings) from error
