"""Faults of topics and of the group: what others write there, what is deleted, what expires.

Where going on would be wrong, the exit code and the sentence are the verdict.
"""

import json
from contextlib import suppress

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic

from processor import topics_admin
from tests.broker import ends
from tests.faults.harness import Field, configure
from tests.faults.load import Generator, sha_of
from tests.faults.logs import QUIET, group_offsets
from tests.faults.on_workers import kill
from tests.faults.verifier import CHANGELOGS, INPUTS, INTERNAL, OUTPUTS, Verifier
from tests.waiting import until

HARD = {
    "segment.ms": "500",
    "min.cleanable.dirty.ratio": "0.001",
    "delete.retention.ms": "0",
    "max.compaction.lag.ms": "500",
}


def foreign_transactions(here: Field, times: int) -> None:
    """Others leave transactions open on an input and on the changelog; they time out, and nothing of them is read."""

    def leave_open(number: int) -> str:
        logical = "signals" if number % 2 == 0 else "runs-changelog"
        settings = {"transactional.id": f"{here.tag}-foreign-{number}", "transaction.timeout.ms": 3_000}
        producer = Producer({"bootstrap.servers": here.servers, **QUIET, **settings})
        producer.init_transactions(30)
        producer.begin_transaction()
        for partition in range(4):
            producer.produce(here.name(logical), key=b"run_foreign", value=b"{}", partition=partition)
        producer.flush(10)
        here.crew[0].kill()  # the next one has to restore while it is open
        return f"hanging on {logical}"

    here.strike(times, 1, leave_open)


def group_offsets_deleted(here: Field, times: int) -> None:
    """The group is deleted between two starts: the positions are in the state."""
    here.load.start()
    for _ in here.until_struck(times):
        here.muster(1)
        hits = here.about_to_strike()
        here.delete_group()
        here.struck("group deleted", hits)
        here.moved = 0
    here.muster(1)
    here.await_progress()
    here.settle()


def compacted(here: Field, times: int) -> None:
    """The changelogs are compacted as hard as a broker can, pass after pass, while workers are killed."""
    for log in CHANGELOGS:
        configure(here, here.name(log), HARD)
    kill(here, times, 1)
    for log in CHANGELOGS:
        held, written = len(here.read(log)), sum(here.ends(here.name(log)).values())
        here.strikes[f"compacted {log}"] += held < 0.7 * written


def refusing_output(here: Field, times: int) -> None:
    """An output topic takes no record of usual size: the worker ends with 78, and says what to raise."""
    here.load.start()
    for _ in here.until_struck(times):
        here.muster(1)
        hits = here.about_to_strike()
        configure(here, here.name("acceptance"), {"max.message.bytes": "100"})
        here.expect_end(here.crew[0], 78, "Raise the topic's max.message.bytes")
        here.struck("refused by the topic", hits)
        configure(here, here.name("acceptance"), {"max.message.bytes": "3145728"})
        here.look()
    here.muster(1)
    here.settle()


def huge_outputs(here: Field, kills: int) -> None:
    """Inputs of one run, each of which says all late events again: far more comes out than one transaction may hold."""
    source = {"kind": "ci", "ref": "r" * 500}
    event = {"kind": "event", "name": "revert", "value": "seen", "tier": "verified", "source": source}
    times = (f"2023-09-15T00:{n // 60:02}:{n % 60:02}Z" for n in range(500))
    signals = [{**event, "id": f"sig_huge_{n}", "observed_at": at} for n, at in enumerate(times)]
    document = Generator(here.rng).document_of("run_huge", sha_of(0))
    here.produce([("runs", b"run_huge", document)])
    here.produce(("signals", b"run_huge", json.dumps(signal).encode()) for signal in signals)
    here.arguments = ()
    here.environment |= {"BATCH_MAX_RECORDS": "5000", "BATCH_MAX_BYTES": "1000000"}
    kill(here, kills, 1)
    here.strikes["huge"] += here.verifier.heaviest("acceptance") > 300_000


def two_applications(here: Field, times: int) -> None:
    """Two application ids read the same inputs, each with its own outputs; one is killed all the while."""
    other = f"{here.tag}-b"
    names = {f"topic_{topic.replace('-', '_')}": f"{other}.{topic}" for topic in OUTPUTS}
    settings = here.settings.model_copy(update={"application_id": other, **names})
    there = here.admin.list_topics(timeout=10).topics.keys()
    plans = [plan for plan in topics_admin.plan(settings) if plan.name not in there]
    new = [NewTopic(plan.name, plan.partitions, 1, config=dict(plan.config)) for plan in plans]
    for future in here.admin.create_topics(new).values():
        future.result(30)
    second = here.worker(
        *here.arguments, APPLICATION_ID=other, **{name.upper(): topic for name, topic in names.items()}
    )
    kill(here, times, 1)
    verifier = Second(here.servers, other, f"{here.tag}.")
    until(verifier.caught_up, "the second has no lag", 90)
    here.end(second)
    here.violations += [f"{sentence} (second application)" for sentence in verifier.verify()]


class Second(Verifier):
    """Of an application whose outputs have names of their own."""

    def name(self, logical: str) -> str:
        return f"{self.application_id}.{logical}" if logical in OUTPUTS else super().name(logical)

    def caught_up(self) -> bool:
        topics = [self.name(topic) for topic in (*INPUTS, *INTERNAL)]
        at = group_offsets(self.servers, self.application_id, topics)
        end = ends(self.servers, topics, committed=False)
        return all(at.get(tp, 0) >= offset for tp, offset in end.items())


# --- faults after which going on would be wrong ----------------------------------------------------


def refusal(here: Field, sentence: str) -> None:
    """The next worker ends with 78 and says this."""
    here.expect_end(here.worker(*here.arguments), 78, sentence)
    here.strikes["refusal"] += 1


def served(here: Field) -> None:
    """Some state, and nobody who serves it."""
    here.muster(1)
    here.load.start()
    here.await_progress()
    here.load.stop()
    until(lambda: here.is_settled((*INPUTS, *INTERNAL)), "all is worked off", 60)
    here.dismiss()


def delete(here: Field, logical: str, share: float) -> None:
    """The records at the head of each partition of a topic."""
    name = here.name(logical)
    upto = [TopicPartition(name, number, int(end * share)) for number, end in here.ends(name).items()]
    for future in here.admin.delete_records(upto).values():
        future.result(30)


def changelog_deleted(here: Field, _times: int) -> None:
    """The changelog is deleted and made again, empty."""
    served(here)
    here.recreate("runs-changelog")
    refusal(here, "the changelog was lost")


def changelog_truncated(here: Field, _times: int) -> None:
    """The first half of the changelog is deleted: its rows are gone, its positions are not."""
    served(here)
    configure(here, here.name("runs-changelog"), {"cleanup.policy": "delete"})  # else a broker deletes nothing
    delete(here, "runs-changelog", 0.5)
    refusal(here, "rows were deleted")


def changelog_lost_its_end(here: Field, _times: int) -> None:
    """The state is older than what the group has read, as after an unclean election."""
    served(here)
    ahead = {tp: offset for tp, offset in here.offsets().items() if tp[0] == here.name("signals")}
    # librdkafka refuses offsets past the end only when it reads there
    here.commit([TopicPartition(topic, number, offset + 1) for (topic, number), offset in ahead.items()])
    refusal(here, "lost its end")


def input_made_again(here: Field, _times: int) -> None:
    """An input topic is deleted and made again."""
    served(here)
    here.recreate("signals")
    refusal(here, "the topic was made anew")


def input_expired(here: Field, _times: int) -> None:
    """Records expire before they are read."""
    served(here)
    generator = Generator(here.rng)
    here.produce(record[:3] for record, _ in zip(generator.records(), range(500), strict=False))
    delete(here, "signals", 1.0)
    refusal(here, "records expired before they were read")


def partitions_raised(here: Field, _times: int) -> None:
    """The partition count of an input is raised."""
    served(here)
    name = here.name("signals")
    with suppress(KafkaException):  # the answer to the question below is what counts
        here.admin.create_partitions([NewPartitions(name, 6)])[name].result(30)
    until(lambda: len(here.admin.list_topics(name, 10).topics[name].partitions) == 6, "six partitions")
    refusal(here, "must have the same number of partitions")
