"""What a broker says of topics and of what we may do with them. Asking makes no topic."""

import os
from collections.abc import Sequence
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

from processor.failure import Failure

TEXT = String("utf-8")
BROKER = Array(("node_id", Int32), ("host", TEXT), ("port", Int32), ("rack", TEXT))
PARTITION = Array(
    ("error_code", Int16),
    ("partition", Int32),
    ("leader", Int32),
    ("leader_epoch", Int32),
    ("replicas", Array(Int32)),
    ("isr", Array(Int32)),
    ("offline_replicas", Array(Int32)),
)


class MetadataResponse(Response):  # type: ignore[misc] # aiokafka has no types here
    """Version 8: the first that tells what the asker may do."""

    API_KEY, API_VERSION = 3, 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", BROKER),
        ("cluster_id", TEXT),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", TEXT),
                ("is_internal", Boolean),
                ("partitions", PARTITION),
                ("allowed", Int32),
            ),
        ),
        ("cluster_allowed", Int32),
    )


class MetadataRequestStruct(RequestStruct):  # type: ignore[misc] # aiokafka has no types here
    """As it goes over the wire."""

    API_KEY, API_VERSION = 3, 8
    RESPONSE_TYPE = MetadataResponse
    SCHEMA = Schema(
        ("topics", Array(TEXT)), ("make_them", Boolean), ("cluster_allowed", Boolean), ("topics_allowed", Boolean)
    )


class MetadataRequest(Request[MetadataRequestStruct]):  # type: ignore[misc] # aiokafka has no types here
    """aiokafka's own goes up to version 5."""

    API_KEY = 3

    def __init__(self, topics: Sequence[str]) -> None:
        self.topics = list(topics)

    def build(self, request_struct_class: type[MetadataRequestStruct]) -> MetadataRequestStruct:
        """The request of this version."""
        return request_struct_class(self.topics, False, False, True)


async def describe(client: AIOKafkaAdminClient, names: Sequence[str]) -> list[dict[str, Any]]:
    """These topics: `topic`, `error_code`, `partitions`, and as bits by Kafka's numbers the operations `allowed`."""
    try:
        answer = await client._send_request(MetadataRequest(names))  # noqa: SLF001 - tests/e2e/test_seams.py
    except NotImplementedError as error:  # of this version
        raise Failure(os.EX_CONFIG, "the brokers are older than Kafka 2.3. Upgrade them") from error
    topics: list[dict[str, Any]] = answer.to_object()["topics"]
    return topics
