"""What the worker, the commands and others must be allowed on the broker (ACLs), and what of it is lacking.

Law: a worker makes no topic, so it never needs Create.
"""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)

from processor import record
from processor.failure import Failure
from processor.metadata import describe
from processor.settings import Settings

CHANGELOGS = ("runs-changelog", "commits-changelog")
INTERNAL = (record.RUN_INPUTS, record.COMMIT_INDEX, *CHANGELOGS)
OUTPUTS = (record.ACCEPTANCE, record.CHANGED, record.REVERSED, record.DEAD_LETTERS)
BITS = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}  # Kafka's AclOperation
OPTIONS = {"Topic": "--topic", "Group": "--group", "TransactionalId": "--transactional-id"}  # of `kafka-acls`
Resource = Literal["Topic", "Group", "TransactionalId"]


class Permission(NamedTuple):
    """An operation on a resource, in Kafka's words. Of a transactional id the name is what it begins with."""

    resource: Resource
    operation: str
    name: str


def on_topics(settings: Settings, operation: str, *logical: str) -> list[Permission]:
    """The operation on each of these topics."""
    return [Permission("Topic", operation, settings.topic(name)) for name in logical]


def worker(settings: Settings, transactions: bool = True) -> list[Permission]:
    """Of `acceptance worker`."""
    application = settings.application_id
    return [
        *on_topics(settings, "Read", *record.INPUTS, *INTERNAL),
        *on_topics(settings, "Write", *OUTPUTS, *INTERNAL),
        Permission("Group", "Read", application),
        *(Permission("TransactionalId", "Write", f"{application}-{p}-") for p in ("runs", "commits") if transactions),
    ]


def looking(settings: Settings) -> list[Permission]:
    """Of `acceptance topics plan|check`."""
    everything = (*record.INPUTS, *OUTPUTS, *INTERNAL)
    return [p for operation in ("Describe", "DescribeConfigs") for p in on_topics(settings, operation, *everything)]


def making(settings: Settings) -> list[Permission]:
    """Of `acceptance topics apply`."""
    return [*looking(settings), *on_topics(settings, "Create", *record.INPUTS, *OUTPUTS, *INTERNAL)]


def producing(settings: Settings) -> list[Permission]:
    """Of `acceptance produce`, and of `dead-letters redrive`."""
    return on_topics(settings, "Write", *record.INPUTS)


async def require(client: AIOKafkaAdminClient, settings: Settings, needed: Sequence[Permission]) -> None:
    """Raises `Failure` unless all that is needed is allowed."""
    topics = {p.name for p in needed if p.resource == "Topic"}
    found = {topic["topic"]: topic for topic in await describe(client, sorted(topics))}
    lacking = []
    for permission in needed:
        if permission.resource == "Topic":
            allowed = _allows(found[permission.name], permission.operation)
        else:
            allowed = await _has_coordinator(client, permission)
        if not allowed:
            lacking.append(permission)
    if lacking:
        raise refusal(settings, lacking)


def _allows(topic: Mapping[str, Any], operation: str) -> bool:
    """By the broker's answer. Of a topic that may not be described it is only known that nothing which implies that is
    allowed; a broker that does not tell leaves the number negative."""
    if topic["error_code"] == TopicAuthorizationFailedError.errno:
        return operation in ("Create", "DescribeConfigs")
    return topic["allowed"] < 0 or bool(topic["allowed"] >> BITS[operation] & 1)


async def _has_coordinator(client: AIOKafkaAdminClient, permission: Permission) -> bool:
    """Whether the broker tells who coordinates it: whoever may read a group or write with an id may ask that."""
    try:
        if permission.resource == "Group":
            await client.find_coordinator(permission.name, 0)
        else:
            await client.find_coordinator(f"{permission.name}0", 1)
    except (GroupAuthorizationFailedError, TransactionalIdAuthorizationFailed):
        return False
    except KafkaError:
        pass  # not forbidden; what else there is comes up where it is used
    return True


def refusal(settings: Settings, lacking: Iterable[Permission]) -> Failure:
    """What is lacking, and what grants it."""
    user = settings.kafka_sasl_username if settings.sasl else "CN=…" if settings.tls else "ANONYMOUS"
    lacks, grants = [], []
    for (resource, operation), group in groupby(sorted(lacking), key=lambda p: (p.resource, p.operation)):
        names = [permission.name for permission in group]
        lacks.append(f"{operation} on {resource} {', '.join(names)}")
        grants.append(
            f"kafka-acls --bootstrap-server {settings.kafka_bootstrap_servers} --command-config admin.properties --add "
            f"--allow-principal {shlex.quote(f'User:{user}')} --operation {operation} "
            + ("--resource-pattern-type prefixed " if resource == "TransactionalId" else "")
            + " ".join(f"{OPTIONS[resource]} {name}" for name in names)
        )
    return Failure(
        os.EX_NOPERM,
        f"User:{user} lacks {'; and '.join(lacks)}. Who administers the brokers grants it with: {' && '.join(grants)}",
    )
