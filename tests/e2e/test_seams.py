"""The names of Faust, mode and aiokafka that the engine uses and that they do not publish, or whose behaviour they do
not promise. Needs no broker. When one of these fails after an upgrade, read the engine's module that uses it."""

import asyncio
import inspect
from typing import Any

import aiokafka
import faust
import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.consumer import consumer as aiokafka_consumer
from aiokafka.consumer import fetcher as aiokafka_fetcher
from aiokafka.consumer import subscription_state
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.structs import RecordMetadata
from faust.app import base as faust_app
from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped
from faust.transport import consumer as faust_consumer
from faust.transport.drivers import aiokafka as driver
from mode import Service

from processor import connection
from processor.engine import publish, topology, worker
from processor.engine.assignment import Assignment
from processor.engine.fetch import Consumer, ConsumerThread, Transport
from processor.engine.recovery import PlacingRecovery, PlacingTables
from processor.pipelines import pipelines
from processor.settings import Settings


def source(thing: object) -> str:
    return inspect.getsource(thing)  # type: ignore[arg-type]


def parameters(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_create_worker_consumer() -> None:
    """Faust makes the worker's consumer there, and what it makes has the two attributes we set."""
    assert parameters(driver.AIOKafkaConsumerThread._create_worker_consumer) == ["self", "transport"]
    init = source(aiokafka.AIOKafkaConsumer.__init__)
    assert "self._isolation_level = isolation_level" in init
    assert "self._fetch_max_wait_ms = fetch_max_wait_ms" in init


def test_the_isolation_level_is_read_at_start() -> None:
    """What we set on the consumer reaches the fetcher, which is made by start()."""
    start = source(aiokafka.AIOKafkaConsumer.start)
    assert "isolation_level=self._isolation_level" in start
    assert "fetch_max_wait_ms=self._fetch_max_wait_ms" in start


def test_ensure_consumer() -> None:
    """The thread gives its aiokafka consumer."""
    assert "return self._consumer" in source(driver.AIOKafkaConsumerThread._ensure_consumer)


def test_fetch_records() -> None:
    """Faust's thread drains the fetcher there, in the thread's own loop."""
    names = ["self", "consumer", "active_partitions", "timeout", "max_records"]
    assert parameters(driver.AIOKafkaConsumerThread._fetch_records) == names
    assert "self._fetch_records" in source(driver.AIOKafkaConsumerThread.getmany)


def test_check_errors() -> None:
    """What ends a membership is kept for whoever asks for records; while nothing is placed that is us."""
    assert "raise exc" in source(GroupCoordinator.check_errors)
    assert "self._coordinator.check_errors()" in source(aiokafka.AIOKafkaConsumer.getmany)
    assert "self._coordinator = GroupCoordinator(" in source(aiokafka.AIOKafkaConsumer.start)


def test_fetched_records_with_no_time_does_not_suspend() -> None:
    """With time-out 0 the fetcher returns what it holds; only a reassignment makes it wait, and that we ask first."""
    body = source(aiokafka_fetcher.Fetcher.fetched_records)
    assert "if drained or not timeout:\n                return drained" in body
    assert body.index("reassignment_in_progress") < body.index("await")
    assert body.count("await ") == 2


def test_an_empty_set_of_partitions_means_all() -> None:
    """Which is why the engine never asks for none."""
    assert "if partitions and tp not in partitions" in source(aiokafka_fetcher.Fetcher.fetched_records)


def test_fetcher_and_subscriptions() -> None:
    """The fetcher of a consumer, its subscriptions, and the state of an assigned partition."""
    assert "self._fetcher = Fetcher(" in source(aiokafka_consumer.AIOKafkaConsumer.start)
    assert "self._subscriptions = subscriptions" in source(aiokafka_fetcher.Fetcher.__init__)
    assert isinstance(subscription_state.SubscriptionState.reassignment_in_progress, property)
    assert isinstance(subscription_state.SubscriptionState.subscription, property)
    assert isinstance(subscription_state.TopicPartitionState.position, property)
    assert parameters(subscription_state.Assignment.state_value) == ["self", "tp"]


def test_the_position_is_past_markers_and_aborted_records() -> None:
    """Draining moves the position over what a reader of committed records does not get."""
    unpack = source(aiokafka_fetcher.PartitionRecords._unpack_records)
    assert unpack.count("self.next_fetch_offset = next_batch.next_offset") == 3
    assert "consumed_to(self._partition_records.next_fetch_offset)" in source(
        aiokafka_fetcher.FetchResult._update_position
    )


def test_create_fetch_waiter() -> None:
    """A future that is done when something was fetched."""
    assert "_fetch_waiters.add" in source(aiokafka_fetcher.Fetcher._create_fetch_waiter)


def test_wait_next_records() -> None:
    """Faust's consumer gives what the thread fetched, and the partitions it asked for."""
    assert parameters(faust_consumer.Consumer._wait_next_records) == ["self", "timeout"]
    assert "return records, active_partitions" in source(faust_consumer.Consumer._wait_next_records)


def test_to_message() -> None:
    """A record becomes a message of the present generation; its value goes through untouched."""
    assert parameters(driver.Consumer._to_message) == ["self", "tp", "record"]
    assert "record.value" in source(driver.Consumer._to_message)


def test_new_consumer_thread() -> None:
    """The consumer makes its thread there, in its constructor; so `intake` must be there before."""
    assert "self._thread = self._new_consumer_thread()" in source(faust_consumer.ThreadDelegateConsumer.__init__)


def test_seeking() -> None:
    """Faust seeks before it lets records flow, and asks `seek_to_committed` where to."""
    completed = source(Recovery.on_recovery_completed)
    assert completed.index("consumer.perform_seek()") < completed.index("consumer.resume_flow()")
    assert "await self.seek_to_committed()" in source(faust_consumer.Consumer.perform_seek)


def test_nothing_is_committed() -> None:
    """Each way in which Faust commits goes through a method that is overridden."""
    assert Consumer.commit is not driver.Consumer.commit
    assert Consumer.force_commit is Consumer.commit
    assert "_commit" in source(faust_consumer.Consumer.force_commit)


def test_restart_recovery() -> None:
    """Faust starts recovery as a task of this name, and `Service.task` finds our override instead."""
    assert "_restart_recovery" in vars(Recovery)
    assert "_restart_recovery" in vars(PlacingRecovery)
    assert "_restart_recovery" in PlacingRecovery._tasks["processor.engine.recovery.PlacingRecovery"]


def test_recovery_is_told_to_start() -> None:
    """A rebalance sets `signal_recovery_start` and notes the generation."""
    told = source(Recovery.on_rebalance)
    assert "self.signal_recovery_start.set()" in told
    assert "self._generation_id = generation_id" in told


def test_wait() -> None:
    """`Recovery._wait` ends with one of two exceptions when the worker stops or the group is rebalanced again."""
    body = source(Recovery._wait)
    assert "raise ServiceStopped()" in body
    assert "raise RebalanceAgain()" in body
    assert issubclass(RebalanceAgain, Exception)
    assert issubclass(ServiceStopped, Exception)


def test_the_table_manager_makes_its_recovery() -> None:
    """`TableManager.recovery` keeps it in `_recovery`, which `on_stop` looks at."""
    assert isinstance(TableManager.recovery, property)
    assert "self._recovery.stop()" in source(TableManager.on_stop)
    assert isinstance(PlacingTables.recovery, property)


def test_create_directories() -> None:
    """Faust makes directories there and nowhere else; ours makes none."""
    assert "mkdir" in source(faust_app.App._create_directories)
    assert "mkdir" not in source(worker.App._create_directories)


def test_revocation_is_signalled() -> None:
    """Whatever was revoked, the signal is sent before the group goes on."""
    body = source(faust_app.App._on_partitions_revoked)
    assert "await T(self.on_partitions_revoked.send)(revoked)" in body
    assert "await promise" in source(faust_consumer.ThreadDelegateConsumer.threadsafe_partitions_revoked)


def test_rebalance_state() -> None:
    """`app.rebalancing` and `app.consumer_generation_id` are what recovery looks at."""
    assert "self.rebalancing = True" in source(faust_app.App.on_rebalance_start)
    assert "app.consumer_generation_id = generation" in source(driver.ConsumerRebalanceListener.on_partitions_assigned)


def test_call_thread() -> None:
    """Calls into the consumer's thread go through its queue and are awaited."""
    assert callable(driver.AIOKafkaConsumerThread.call_thread)


def test_stopping_the_consumer_leaves_the_group() -> None:
    """Stopping Faust's consumer stops the thread's, which leaves the group."""
    assert "await self._consumer.stop()" in source(driver.AIOKafkaConsumerThread.on_thread_stop)


def test_signal_handlers() -> None:
    """Faust's worker installs its handlers there; ours are others."""
    assert worker.Worker.install_signal_handlers is not faust.Worker.install_signal_handlers
    assert "self.install_signal_handlers()" in source(faust.Worker.__mro__[1].default_on_first_start)


def test_an_oversized_first_record_is_taken_without_a_word() -> None:
    """Which is why `publish.send` looks at sizes itself."""
    batch = BatchBuilder(100, 0, is_transactional=1)
    assert batch.append(timestamp=None, key=b"k", value=b"x" * 1_000, headers=[("h", None)]) is not None
    assert batch.size() > 1_000
    assert batch.append(timestamp=None, key=b"k", value=b"x") is None


def test_offsets_of_a_batch() -> None:
    """A batch's future has its first offset: the accumulator resolves it with the base offset."""
    from aiokafka.producer.message_accumulator import MessageBatch

    assert "base_offset" in parameters(MessageBatch.done)


def test_an_end_that_the_broker_did_not_say() -> None:
    """After a repetition that a broker recognised, aiokafka reports success and offset -1: the end is not known."""

    class Repeated:
        create_batch = staticmethod(lambda: BatchBuilder(1_000, 0, is_transactional=1))

        async def send_batch(self, *_args: object, **_kwargs: object) -> asyncio.Future[RecordMetadata]:
            sent: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
            sent.set_result(RecordMetadata("t", 0, TopicPartition("t", 0), -1, None, -1, None))
            return sent

    end = asyncio.run(publish.send(Repeated(), TopicPartition("t", 0), [(b"k", b"v", ())]))  # type: ignore[arg-type]
    assert end is None


def test_send_request() -> None:
    """The admin client sends a request of ours to any broker, in the highest version that both know."""
    assert parameters(AIOKafkaAdminClient._send_request) == ["self", "request", "node_id"]
    assert "request.prepare(self._versions)" in source(AIOKafkaConnection.send)


def test_a_connection_is_made_with_the_arguments_of_a_client() -> None:
    """Which is how the reason for a failure is found."""
    assert {"ssl_context", "security_protocol", "sasl_mechanism", "sasl_plain_username", "sasl_plain_password"} <= set(
        parameters(create_conn)
    )


@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT", "SSL", "PLAINTEXT"])
def test_faust_is_given_the_arguments_of_a_client(protocol: str) -> None:
    """Its consumer and its producer are made with what the others are made with."""
    user = {"kafka_sasl_mechanism": "SCRAM-SHA-512", "kafka_sasl_username": "u", "kafka_sasl_password": "p"}
    sasl: dict[str, Any] = user if protocol.startswith("SASL") else {}
    settings = Settings(kafka_security_protocol=protocol, **sasl)  # type: ignore[arg-type]
    ours = connection.arguments(settings)
    faust_s = dict(driver.credentials_to_aiokafka_auth(worker.credentials(settings), None))
    assert ("ssl_context" in faust_s and faust_s.pop("ssl_context") is not None) == settings.tls
    assert faust_s == {name: value for name, value in ours.items() if name not in ("bootstrap_servers", "ssl_context")}
    for made in (driver.AIOKafkaConsumerThread._create_worker_consumer, driver.Producer._settings_auth):
        assert "credentials_to_aiokafka_auth" in source(made)


@pytest.fixture
def app() -> faust.App:
    """The product's app, wired to nothing."""

    async def built() -> faust.App:
        settings = Settings(kafka_bootstrap_servers="localhost:1", application_id="seams")
        chosen = pipelines(settings)
        counts = dict.fromkeys(topology.logical_topics(chosen), 4)
        return worker.build(settings, chosen, counts, transactions=True)

    return asyncio.run(built())


def test_the_app_is_wired(app: worker.App) -> None:
    """Our consumer, thread, tables and recovery are the ones that Faust will use."""
    assert isinstance(app.transport, Transport)
    assert app.transport.Consumer is Consumer
    assert isinstance(app.tables, PlacingTables)
    assert isinstance(app.tables.recovery, PlacingRecovery)
    assert isinstance(app.assignment, Assignment)
    assert issubclass(ConsumerThread, driver.AIOKafkaConsumerThread)
    assert issubclass(PlacingRecovery, Service)


def test_faust_names_the_changelogs_as_we_do(app: worker.App) -> None:
    """`<application id>-<pipeline>-changelog`."""
    assert app.tables.changelog_topics == {"seams-runs-changelog", "seams-commits-changelog"}


def test_nothing_is_made_on_the_broker_or_served_on_the_web(app: worker.App) -> None:
    """The settings of the app that must hold, as Faust reads them."""
    conf = app.conf
    assert (conf.topic_allow_declare, conf.topic_disable_leader, conf.web_enabled) == (False, True, False)
    assert (conf.table_standby_replicas, conf.stream_wait_empty) == (0, False)
    assert (conf.id, conf.consumer_auto_offset_reset) == ("seams", "none")
