"""The worker: the topology as a Faust app, its configuration, and how it runs and stops.

Law: a worker that is told to stop leaves the group and is gone within 10 seconds.
"""

import asyncio
import gc
import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import AsyncIterable, Mapping, Sequence
from typing import Any

import faust
from faust.auth import Credentials, SASLCredentials, SSLCredentials

from processor import connection
from processor.engine.assignment import Assignment
from processor.engine.exits import FAUST_LOG, die, die_of
from processor.engine.fetch import Transport
from processor.engine.intake import Intake
from processor.engine.placing import Placing
from processor.engine.recovery import PlacingTables
from processor.engine.settle import Settler
from processor.engine.topology import partition_counts
from processor.harmless import harmless
from processor.record import Pipeline
from processor.settings import Settings

log = logging.getLogger(__name__)

STOP_SECONDS = 9.0
REVOKE_SHARE = 0.8  # of the rebalance time-out, for the transactions in flight
PLAIN_REBALANCE_SECONDS = 5.0  # the embedded broker lets the first member wait half of it
MAX_FETCH_BYTES = 4_194_304  # of a partition at a time; internal records have up to 3 MiB
CHUNK_QUEUE = 4_096  # chunks an agent's queue may hold; `Intake` keeps it far below
START_SECONDS = 30
LONGEST_LOG_LINE = 4_000


class EngineTable(faust.Table):  # type: ignore[misc] # Faust has no types here
    """Declares a changelog, so that the assignor gives it out with the inputs. The rows are elsewhere."""

    logger = FAUST_LOG

    def on_key_set(self, key: object, value: object) -> None:
        """Nothing: the publisher writes the changelog."""

    def on_key_del(self, key: object) -> None:
        """Nothing: the publisher writes the changelog."""


class App(faust.App):  # type: ignore[misc] # Faust has no types here
    """Faust's app, with the partitions it owns."""

    logger = FAUST_LOG
    assignment: Assignment

    def _create_directories(self) -> None:
        """None: nothing is kept on disk."""


def credentials(settings: Settings) -> Credentials | None:
    """The arguments of every other client, in Faust's words; for its consumer, and the producer it starts unasked."""
    given = connection.arguments(settings)
    if settings.sasl:
        return SASLCredentials(
            username=given["sasl_plain_username"],
            password=given["sasl_plain_password"],
            mechanism=given["sasl_mechanism"],
            ssl_context=given["ssl_context"],
        )
    return SSLCredentials(given["ssl_context"]) if settings.tls else None


def configured_app(settings: Settings, tables: type[PlacingTables], rebalance_seconds: float) -> App:
    """An app with nothing in it."""
    servers = settings.kafka_bootstrap_servers.split(",")
    return App(
        settings.application_id,
        broker=[f"kafka://{server.strip()}" for server in servers],
        broker_credentials=credentials(settings),
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        topic_allow_declare=False,  # `acceptance topics apply` makes them
        table_standby_replicas=0,
        stream_buffer_maxsize=CHUNK_QUEUE,
        stream_wait_empty=False,  # it waits without limit; `Assignment.revoke` waits with one
        worker_redirect_stdouts=False,
        broker_session_timeout=settings.session_timeout_seconds,
        broker_heartbeat_interval=settings.session_timeout_seconds / 6,
        broker_rebalance_timeout=rebalance_seconds,
        broker_commit_interval=60.0,
        consumer_auto_offset_reset="none",
        consumer_max_fetch_size=MAX_FETCH_BYTES,
        TableManager=tables,
    )


def add_pipeline(
    app: App, settings: Settings, pipeline: Pipeline, counts: Mapping[str, int], assignment: Assignment
) -> None:
    """The topology: chunks of the pipeline's inputs to their partitions, and its changelog beside them."""
    count = counts[pipeline.inputs[0]]
    names = [settings.topic(topic) for topic in pipeline.inputs]
    inputs = app.topic(*names, key_serializer="raw", value_serializer="raw", partitions=count, acks=False)
    # Faust names its changelog `<application id>-<table>-changelog`, as `topology.changelog` does
    app.tables.add(EngineTable(app, name=pipeline.name, partitions=count, key_type=bytes, value_type=bytes))

    async def distribute(stream: faust.StreamT[Any]) -> AsyncIterable[None]:
        async for event in stream.noack().events():
            try:
                assignment.take(event.value)
            except Exception as error:  # noqa: BLE001 - Faust would take the chunk for done and go on
                die_of(error, f"distributing {pipeline.name}")
        yield

    app.agent(inputs, name=f"distribute-{pipeline.name}")(distribute)


def build(settings: Settings, pipelines: Sequence[Pipeline], counts: Mapping[str, int], transactions: bool) -> App:
    """The whole app, wired; it does nothing yet."""
    rebalance_seconds = settings.rebalance_timeout_seconds if transactions else PLAIN_REBALANCE_SECONDS
    intake = Intake()
    tallies: dict[str, Counter[str]] = {pipeline.name: Counter() for pipeline in pipelines}
    placing = Placing(settings, pipelines, counts, intake, transactions, tallies)
    assignment = Assignment(intake, placing, REVOKE_SHARE * rebalance_seconds)
    tables = type("Tables", (PlacingTables,), {"assignment": assignment})
    app = configured_app(settings, tables, rebalance_seconds)
    app.transport = Transport(app, intake)
    for pipeline in pipelines:
        add_pipeline(app, settings, pipeline, counts, assignment)

    @app.on_partitions_revoked.connect  # type: ignore[untyped-decorator]
    async def revoked(_app: App, _revoked: object, **_: object) -> None:
        await assignment.revoke()

    app.task(assignment.say_counts_now_and_then)
    if transactions:  # without them nobody says how far the others have come
        app.task(Settler(settings, counts, assignment).run)
    app.assignment = assignment
    return app


class Worker(faust.Worker):  # type: ignore[misc] # Faust has no types here
    """Faust's worker, with a stop that has a limit."""

    logger = FAUST_LOG

    leaving: asyncio.Future[None] | None = None

    def install_signal_handlers(self) -> None:
        """SIGTERM and SIGINT: end well, and within the limit."""
        for which in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(which, self.on_stop_signal, which)

    def on_stop_signal(self, which: signal.Signals) -> None:
        """Let the transactions in flight end, then leave."""
        if self.leaving is not None:
            return  # it is under way
        log.info("%s: leaving", which.name)
        limit = threading.Timer(STOP_SECONDS, die, (f"did not stop within {STOP_SECONDS:g} s", os.EX_SOFTWARE))
        limit.daemon = True
        limit.start()
        self.leaving = asyncio.ensure_future(self.leave())

    async def leave(self) -> None:
        """Stop taking in, end what is begun, leave the group."""
        await self.app.assignment.revoke()
        await self.app.consumer.stop()
        logging.shutdown()
        os._exit(os.EX_OK)


# A batch makes many objects that live until it is published and are freed by their counts; to look through them for
# cycles again and again cost a fifth of the time.
GC_THRESHOLDS = (100_000, 50, 100)


def run(settings: Settings, pipelines: Sequence[Pipeline], *, transactions: bool = True) -> int:
    """Serve until told to stop. Returns the exit code, or ends the process with one of sysexits and a sentence."""
    configure_logging()
    log.info("starting %s on %s", settings.application_id, settings.kafka_bootstrap_servers)
    try:
        counts = asyncio.run(checked_counts(settings, pipelines, transactions))
    except Exception as error:  # noqa: BLE001 - each kind has its code
        die_of(error, f"asking {settings.kafka_bootstrap_servers} for its topics")
    gc.set_threshold(*GC_THRESHOLDS)
    app = build(settings, pipelines, counts, transactions)
    worker = Worker(app, override_logging=False, quiet=True, loglevel="WARNING")
    worker.spinner = None
    try:
        worker.execute_from_commandline()
    except SystemExit as end:
        if end.code:
            die("the worker ended by itself; what went wrong is above", os.EX_SOFTWARE)
    return os.EX_OK


class OneLine(logging.Formatter):
    """A message is one line, whatever it quotes; a traceback is indented, so that none of its lines passes for one."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line."""
        return harmless(super().formatMessage(record), LONGEST_LOG_LINE)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        """The traceback."""
        return "\n".join(f"  {harmless(line, LONGEST_LOG_LINE)}" for line in super().formatException(ei).split("\n"))


def configure_logging() -> None:
    """One line for each thing an operator acts on, to standard error; of the libraries only what went wrong. A process
    that has its own configuration keeps it."""
    if not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
        logging.basicConfig(handlers=[handler], level=logging.WARNING)
        logging.getLogger("processor").setLevel(logging.INFO)


async def checked_counts(settings: Settings, pipelines: Sequence[Pipeline], transactions: bool) -> dict[str, int]:
    """The topics' partition counts, asked for with a limit; all that a worker must be allowed is."""
    async with asyncio.timeout(START_SECONDS):
        return await partition_counts(settings, pipelines, transactions)
