"""Plain Faust: an agent for each kind of input, an event at a time, a table for the state, a send for each output.

    python -m bench.peers.faust_events SERVERS GROUP INPUT_PREFIX PREFIX PARTITIONS

Runs the product's own pure step. At least once.
"""

import logging
import sys

import faust

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

servers, group, given, prefix, partitions = sys.argv[1:6]
app = faust.App(
    group,
    broker=f"kafka://{servers}",
    store="memory://",
    web_enabled=False,
    topic_disable_leader=True,
    topic_allow_declare=True,
    topic_partitions=int(partitions),
    topic_replication_factor=1,
    table_standby_replicas=0,
    broker_commit_interval=1.0,
    broker_session_timeout=10,
    broker_rebalance_timeout=10,
    consumer_auto_offset_reset="earliest",
    stream_wait_empty=False,
    producer_linger=0.02,
    producer_max_batch_size=262_144,
    producer_acks=-1,
)
RAW = {"key_serializer": "raw", "value_serializer": "raw"}
names = {**{topic: f"{given}{topic}" for topic in (RUNS, SIGNALS, COMMIT_EVENTS)}, RUN_INPUTS: f"{prefix}{RUN_INPUTS}"}
names[COMMIT_INDEX] = f"{prefix}{COMMIT_INDEX}"
logical = {name: topic for topic, name in names.items()}
outputs = {
    topic: app.topic(names.get(topic, f"{prefix}{topic}"), **RAW)
    for topic in (ACCEPTANCE, CHANGED, REVERSED, DEAD_LETTERS, RUN_INPUTS, COMMIT_INDEX)
}
step = Step()
runs = app.Table("runs", key_type=bytes, value_type=bytes, partitions=int(partitions))
groups = app.Table("groups", key_type=bytes, value_type=bytes, partitions=int(partitions))


async def fold(event, table, fold_one):
    message = event.message
    place = message.partition, message.offset, int(message.timestamp * 1_000)
    record = record_of(logical[message.topic], place, message.key, message.value, message.headers)
    before = table.get(record.key) if record.key else None
    said, after = fold_one(record, before)
    if after is not before and record.key:
        table[record.key] = after
    for output in said:
        await outputs[output.topic].send(key=output.key, value=output.value, headers=list(output.headers))


@app.agent(app.topic(names[RUNS], names[SIGNALS], names[RUN_INPUTS], **RAW))
async def fold_runs(stream):
    async for event in stream.events():
        await fold(event, runs, step.of_runs)


@app.agent(app.topic(names[COMMIT_EVENTS], **RAW))
async def route_events(stream):
    async for event in stream.events():
        await fold(event, {}, step.of_commits)


@app.agent(app.topic(names[COMMIT_INDEX], **RAW))
async def fold_groups(stream):
    async for event in stream.events():
        await fold(event, groups, step.of_commits)


if __name__ == "__main__":
    sys.argv[1:] = []
    faust.Worker(app, loglevel=logging.WARNING).execute_from_commandline()
