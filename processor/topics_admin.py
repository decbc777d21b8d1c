"""`acceptance topics`: the topics as a table; what is missing or different on the broker; making what is missing.

Law: nothing that exists is altered or deleted.
"""

import argparse
import asyncio
import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError, for_code

from processor import broker, permissions, record
from processor.failure import Failure
from processor.harmless import harmless
from processor.metadata import describe
from processor.settings import Settings

THIRTY_DAYS_MS = 30 * 24 * 3_600 * 1_000
COMPACT = {"cleanup.policy": "compact"}
# Inputs must outlive the longest time without a worker, and the window. The internal topics that a worker reads are
# kept as long: were theirs shorter, a pause that the inputs survive would lose what is in between; for ever would
# only grow, since a worker away for longer has lost inputs anyway and says so.
DELETE = {"cleanup.policy": "delete", "retention.ms": str(THIRTY_DAYS_MS)}
DEAD_LETTERS = DELETE | {"message.timestamp.type": "LogAppendTime"}  # kept 30 days from when then on, whatever it says
# A record of MAX_RECORD_BYTES with its key and headers.
ROOM = {"max.message.bytes": "2097152"}
# Such a record with what is added to it: when it is passed on or dead-lettered.
MORE_ROOM = {"max.message.bytes": "3145728"}
AT_LEAST = frozenset({"retention.ms", "max.message.bytes", "min.insync.replicas"})  # more is no difference
WAIT_SECONDS, POLL_SECONDS = 30.0, 0.1

# Topics of one group are read side by side: partition 3 of one is worked on with partition 3 of the others.
TABLE: Mapping[str, tuple[Literal["runs", "commits"] | None, Mapping[str, str]]] = {
    record.RUNS: ("runs", COMPACT),
    record.SIGNALS: ("runs", DELETE),
    record.COMMIT_EVENTS: ("commits", DELETE),
    record.ACCEPTANCE: ("runs", COMPACT),
    record.CHANGED: ("runs", DELETE),
    record.REVERSED: ("runs", DELETE),
    record.DEAD_LETTERS: (None, DEAD_LETTERS),
    record.RUN_INPUTS: ("runs", DELETE),
    "runs-changelog": ("runs", COMPACT),
    record.COMMIT_INDEX: ("commits", DELETE),
    "commits-changelog": ("commits", COMPACT),
}


@dataclasses.dataclass(frozen=True)
class TopicPlan:
    """A topic as it should be."""

    name: str
    group: str | None  # all topics of a group have one partition count
    partitions: int
    replicas: int
    config: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Found:
    """A topic as it is. `config` is empty when the broker does not tell."""

    partitions: int
    replicas: int
    config: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Finding:
    """A topic as it should be, beside what is on the broker."""

    plan: TopicPlan
    found: Found | None
    differences: Sequence[str]  # sentences; empty for a topic that is missing

    @property
    def exists(self) -> bool:
        """Whether the broker has it."""
        return self.found is not None


def plan(settings: Settings) -> list[TopicPlan]:
    """Every topic, public ones first, as `apply` makes it."""
    replicated = {"min.insync.replicas": "2"} if settings.topic_replication_factor >= 3 else {}
    return [
        TopicPlan(
            settings.topic(logical),
            group,
            settings.topic_partitions,
            settings.topic_replication_factor,
            {**config, **(ROOM if logical in record.INPUTS else MORE_ROOM), **replicated},
        )
        for logical, (group, config) in TABLE.items()
    ]


def compare(plans: Sequence[TopicPlan], found: Mapping[str, Found]) -> list[Finding]:
    """What is missing and what is different. A partition count may be any, if it is the same for the whole group: that
    of the first topic that exists."""
    findings = []
    for topic in plans:
        first = next((p.name for p in plans if topic.group and p.group == topic.group and p.name in found), None)
        if first is not None:
            topic = dataclasses.replace(topic, partitions=found[first].partitions)
        there = found.get(topic.name)
        findings.append(Finding(topic, there, [] if there is None else _differences(topic, there, first)))
    return findings


def _differences(topic: TopicPlan, there: Found, first: str | None) -> list[str]:
    said = []
    if first is not None and there.partitions != topic.partitions:
        said.append(f"partitions: {there.partitions}, but {first} has {topic.partitions}")
    if there.replicas < topic.replicas:
        said.append(f"replicas: {there.replicas}, should be {topic.replicas}")
    for name, wanted in topic.config.items():
        value = there.config.get(name)
        if value is not None and not _fits(name, value, wanted):
            said.append(f"{name}: {value}, should be {wanted}{' or more' if name in AT_LEAST else ''}")
    return said


def _fits(name: str, value: str, wanted: str) -> bool:
    if name in AT_LEAST:
        return int(value) < 0 or int(value) >= int(wanted)  # -1: for ever
    return value == wanted


async def check(settings: Settings) -> list[Finding]:
    """All topics, each beside what is on the broker."""
    async with broker.admin(settings) as admin:
        await permissions.require(admin, settings, permissions.looking(settings))
        plans = plan(settings)
        return compare(plans, await _found(admin, [topic.name for topic in plans]))


async def apply(settings: Settings) -> list[Finding]:
    """Make what is missing, and wait until it can be used. Returns what there was before."""
    async with broker.admin(settings) as admin:
        await permissions.require(admin, settings, permissions.looking(settings))
        plans = plan(settings)
        before = compare(plans, await _found(admin, [topic.name for topic in plans]))
        missing = [finding.plan for finding in before if not finding.exists]
        if missing:
            await _create(admin, missing, settings)
            await _until_there(admin, [topic.name for topic in missing])
        return before


async def _create(admin: AIOKafkaAdminClient, missing: Sequence[TopicPlan], settings: Settings) -> None:
    topics = [NewTopic(p.name, p.partitions, p.replicas, topic_configs=dict(p.config)) for p in missing]
    answer = await admin.create_topics(topics, timeout_ms=int(WAIT_SECONDS * 1_000))
    forbidden = [name for name, code, *_ in answer.topic_errors if code == TopicAuthorizationFailedError.errno]
    if forbidden:
        raise permissions.refusal(settings, [permissions.Permission("Topic", "Create", name) for name in forbidden])
    for name, code, *why in answer.topic_errors:
        error: type[KafkaError] = for_code(code)
        if code and error is not TopicAlreadyExistsError:  # another `apply` was quicker
            said = harmless((why and why[0]) or error.__name__).rstrip(".")
            raise Failure(
                os.EX_CONFIG,
                f"the broker will not make the topic {name}: {said}. See TOPIC_PARTITIONS and TOPIC_REPLICATION_FACTOR",
            )


async def _until_there(admin: AIOKafkaAdminClient, names: Sequence[str]) -> None:
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while len(await _described(admin, names)) < len(names):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)  # a broker tells nobody when it is ready
    except TimeoutError:
        raise Failure(
            os.EX_TEMPFAIL, f"the topics were made, but after {WAIT_SECONDS:.0f} s not every partition has a leader"
        ) from None


async def _described(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The partitions of those topics that exist and have leaders."""
    return {
        topic["topic"]: topic["partitions"]
        for topic in await describe(admin, names)
        if topic["partitions"] and all(p["leader"] >= 0 for p in topic["partitions"])
    }


async def _found(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, Found]:
    described = await _described(admin, names)
    configs: dict[str, dict[str, str]] = {}
    if described:
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in described]
        for answer in await admin.describe_configs(resources):
            for resource in answer.to_object()["resources"]:
                entries = resource["config_entries"]  # none on a broker that does not know of settings
                configs[resource["resource_name"]] = {e["config_names"]: e["config_value"] for e in entries}
    return {
        name: Found(len(partitions), min(len(p["replicas"]) for p in partitions), configs.get(name, {}))
        for name, partitions in described.items()
    }


def main(args: argparse.Namespace, settings: Settings) -> int:
    """`plan` and `check` look, `apply` makes. 1 when something is (still) missing or different."""
    return broker.run(_main(args.action, bool(args.json), settings))


async def _main(action: str, as_json: bool, settings: Settings) -> int:
    findings = await (apply(settings) if action == "apply" else check(settings))
    if as_json:
        print(json.dumps([_as_dict(action, finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print("\n".join(_lines(action, finding)))
    different = any(f.differences for f in findings)
    missing = action == "check" and not all(f.exists for f in findings)
    return 1 if different or missing else os.EX_OK


def _word(action: str, finding: Finding) -> str:
    if finding.exists:
        return "differs" if finding.differences else "ok"
    return {"plan": "create", "apply": "created", "check": "missing"}[action]


def _as_dict(action: str, finding: Finding) -> dict[str, object]:
    return {"status": _word(action, finding), **dataclasses.asdict(finding.plan), "differences": finding.differences}


def _lines(action: str, finding: Finding) -> list[str]:
    topic = finding.plan
    line = f"{_word(action, finding):8} {topic.name}"
    if not finding.exists:
        config = " ".join(f"{name}={value}" for name, value in topic.config.items())
        line += f"  partitions={topic.partitions} replicas={topic.replicas} {config}"
    return [line, *(f"{'':8}   {harmless(difference)}" for difference in finding.differences)]
