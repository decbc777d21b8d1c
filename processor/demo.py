"""`acceptance demo`: a broker, a worker and a real repository's history, from nothing to what was reverted.

Law: whatever ends it, no process and, unless it failed, no file is left.
"""

import argparse
import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition
from rich.console import Console
from rich.live import Live

from processor import broker, display, embedded, produce, record, watch
from processor.failure import Failure
from processor.replay import Replay
from processor.settings import Settings
from processor.tally import Outcome, Tally, outcomes
from topics.acceptance import RECORD as ACCEPTANCE

HISTORY = Path(__file__).parent.parent / "demo" / "cargo.records.jsonl.gz"
APPLICATION_ID = "ocp-acceptance-demo"
SILENCE_SECONDS = 30.0  # with nothing new for so long, something is wrong
PLAY_SECONDS = 8.0  # on a terminal the years go by in this time; elsewhere as fast as they can
POLL_MS = 100
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(args: argparse.Namespace, settings: Settings) -> int:
    """Show it all. What the environment sets is for real brokers and does not count here."""
    del args, settings
    return broker.run(_main(display.console()))


async def _main(console: Console) -> int:
    """The signals end the show, never the clearing up after it."""
    if not HISTORY.exists():
        raise Failure(os.EX_NOINPUT, f"{HISTORY} is not there: the demo's history comes with a clone of the repository")
    stopped_by: list[signal.Signals] = []
    with embedded.children() as children:
        show = asyncio.create_task(_show(console, children))

        def stop(which: signal.Signals) -> None:
            stopped_by.append(which)
            show.cancel()

        for which in STOPPING:
            asyncio.get_running_loop().add_signal_handler(which, stop, which)
        try:
            tally = await show
        except (asyncio.CancelledError, OSError):  # after SIGHUP there is no terminal to write to
            if not stopped_by:
                raise
            with suppress(OSError):
                console.print("\nStopping the worker and the broker …")
    if stopped_by:
        with suppress(OSError):
            console.print("Stopped; nothing is left running.")
        return 128 + stopped_by[0]
    console.print(display.summary(tally))
    return os.EX_OK


async def _show(console: Console, children: embedded.Children) -> Tally:
    environment = {name: value for name, value in os.environ.items() if name.lower() not in Settings.model_fields}
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    settings = Settings(kafka_bootstrap_servers=embedded.start_broker(children), application_id=APPLICATION_ID)
    console.print(
        f"A broker in memory on {settings.kafka_bootstrap_servers}, a worker, and {HISTORY.name}: the changes of"
    )
    console.print(
        "rust-lang/cargo since 2014, each accepted when its tests passed; which were reverted within 14 days?\n"
    )
    tally = Tally(expected(settings))
    await embedded.make_topics(settings, children)
    own = {"KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers, "APPLICATION_ID": APPLICATION_ID}
    embedded.start_worker(children, environment | own)
    async with broker.consumer(settings) as consumer, produce.opened(settings) as producer:
        partitions = [
            TopicPartition(settings.topic(topic), number)
            for topic in (record.ACCEPTANCE, record.CHANGED)
            for number in range(settings.topic_partitions)
        ]
        await watch.assign(consumer, partitions, from_beginning=True)
        begun = asyncio.Event()
        playing = asyncio.create_task(produce.send_all(producer, _history(begun, console.is_terminal), settings))
        try:
            await _follow(console, tally, consumer, settings, lambda: _require(children, playing), begun)
        finally:
            playing.cancel()
    return tally


def expected(settings: Settings) -> dict[str, Outcome]:
    """How each run must end: the same history through the same pipelines, with no broker."""
    replay = Replay(settings)
    return outcomes(
        acceptance
        for _, line in produce.lines_of(str(HISTORY))
        for output in replay.put(line.topic, line.key, line.value)
        if output.topic == record.ACCEPTANCE and (acceptance := ACCEPTANCE.validate_json(output.value or b""))
    )


async def _history(begun: asyncio.Event, paced: bool) -> AsyncIterator[produce.Numbered]:
    """The history's records in order of time; when paced, the rest once the first has come out at the other end."""
    lines = list(produce.lines_of(str(HISTORY)))
    for at, numbered in enumerate(lines):
        yield numbered
        if paced:
            await begun.wait()
            if at % 50 == 0:
                await asyncio.sleep(PLAY_SECONDS * 50 / len(lines))


def _require(children: embedded.Children, playing: "asyncio.Task[object]") -> None:
    """Raises what went wrong beside the reading, if anything did."""
    children.require()
    if playing.done():
        playing.result()


async def _follow(
    console: Console,
    tally: Tally,
    consumer: AIOKafkaConsumer,
    settings: Settings,
    require: Callable[[], None],
    begun: asyncio.Event,
) -> None:
    """Read and show until all that must come has come."""
    live: Live | None = Live(console=console, auto_refresh=False) if console.is_terminal else None
    shown: AbstractContextManager[object] = live or nullcontext()
    clock = asyncio.get_running_loop().time
    last = clock()
    with shown:
        while not tally.done:
            require()
            batches = await consumer.getmany(timeout_ms=POLL_MS)
            for read in (read for batch in batches.values() for read in batch):
                last = clock()
                begun.set()
                if read.topic == settings.topic(record.ACCEPTANCE):
                    if acceptance := ACCEPTANCE.validate_json(read.value or b"null"):
                        tally.judged(acceptance)
                elif change := watch.decode(read):
                    tally.changed(change)
                    if live is None:
                        console.print(display.line(change))
            if live is not None:
                live.update(display.table(tally, console.height), refresh=True)
            if clock() - last > SILENCE_SECONDS:
                raise Failure(
                    os.EX_TEMPFAIL,
                    f"nothing came for {SILENCE_SECONDS:.0f} s, and {tally.waiting} runs are not as expected yet",
                )
