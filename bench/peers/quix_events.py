"""Quix Streams, tuned: dataframes of the inputs, concatenated by key, with its RocksDB state and its changelogs.

    python -m bench.peers.quix_events SERVERS GROUP INPUT_PREFIX PREFIX STATE_DIRECTORY

Runs the product's own pure step, in an environment of its own. At least once.
"""

import sys

from quixstreams import Application
from quixstreams.models import Serializer

from bench.peers.step import Step, record_of
from processor.record import (
    ACCEPTANCE,
    CHANGED,
    COMMIT_EVENTS,
    COMMIT_INDEX,
    DEAD_LETTERS,
    REVERSED,
    RUN_INPUTS,
    RUNS,
    SIGNALS,
)

servers, group, given, prefix, directory = sys.argv[1:6]
app = Application(
    broker_address=servers,
    consumer_group=group,
    auto_offset_reset="earliest",
    commit_interval=1.0,
    state_dir=directory,
    auto_create_topics=True,
    loglevel="WARNING",
    consumer_extra_config={"queued.min.messages": 200_000, "fetch.queue.backoff.ms": 10},
    producer_extra_config={
        "linger.ms": 20,
        "batch.size": 1_000_000,
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 1_000_000,
        "enable.idempotence": True,
    },
)


class OutputSerializer(Serializer):
    """The value of an output."""

    def __call__(self, value, ctx):
        return value.value


def output_topic(logical):
    return app.topic(f"{prefix}{logical}", key_serializer="bytes", value_serializer=OutputSerializer())


def stream(logical, name):
    """An input's records, each with its topic."""
    topic = app.topic(name, key_deserializer="bytes", value_deserializer="bytes")
    return app.dataframe(topic).apply(lambda value: (logical, value))


OUT = {topic: output_topic(topic) for topic in (ACCEPTANCE, CHANGED, REVERSED, DEAD_LETTERS, RUN_INPUTS, COMMIT_INDEX)}
step = Step()


def folded(one):
    """The step, on Quix's state."""

    def fold(value, key, timestamp, headers, state):
        topic, raw = value
        before = state.get_bytes("row")
        outputs, after = one(record_of(topic, (0, 0, timestamp), key, raw, headers), before)
        if after is not before:
            state.set_bytes("row", after)
        return outputs

    return fold


def stateless(value, key, timestamp, headers):
    return step.of_commits(record_of(value[0], (0, 0, timestamp), key, value[1], headers), None)[0]


def published(outputs):
    outputs.set_headers(lambda output, *_: list(output.headers)).to_topic(
        lambda output, *_: OUT[output.topic], key=lambda output: output.key
    )


inputs = stream(RUNS, f"{given}{RUNS}").concat(stream(SIGNALS, f"{given}{SIGNALS}"))
inputs = inputs.concat(stream(RUN_INPUTS, f"{prefix}{RUN_INPUTS}"))
published(inputs.apply(folded(step.of_runs), stateful=True, metadata=True, expand=True))
published(stream(COMMIT_EVENTS, f"{given}{COMMIT_EVENTS}").apply(stateless, metadata=True, expand=True))
index = stream(COMMIT_INDEX, f"{prefix}{COMMIT_INDEX}")
published(index.apply(folded(step.of_commits), stateful=True, metadata=True, expand=True))
app.run()
