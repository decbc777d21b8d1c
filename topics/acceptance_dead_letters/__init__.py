"""`acceptance-dead-letters`: what could not be read, and why. Key, value and headers: as received.

Headers added: the model below. Clean-up: delete, 30 days, LogAppendTime.
"""

from typing import Literal

from pydantic import Field, TypeAdapter

from topics.signals import Public

Code = Literal[
    "too_large",
    "bad_key",
    "bad_commit",
    "bad_encoding",
    "bad_json",
    "too_deep",
    "schema",
    "E195",
    "bad_timestamp",
    "key_mismatch",
    "run_full",
    "run_expired",
]  # in the order in which they are looked for


class AddedHeaders(Public):
    """The headers that are added, all UTF-8 text. The names are those of Kafka Streams where it has one."""

    exception: str = Field(alias="__streams.errors.exception")
    message: str = Field(alias="__streams.errors.message", description="What is wrong, and where.")
    topic: str = Field(alias="__streams.errors.topic", description="Where the record was read.")
    partition: str = Field(alias="__streams.errors.partition", pattern="^[0-9]+$")
    offset: str = Field(alias="__streams.errors.offset", pattern="^[0-9]+$")
    code: Code = Field(alias="ocp.errors.code")
    timestamp: str = Field(
        alias="ocp.errors.timestamp", pattern="^-?[0-9]+$", description="The record's own, in ms since 1970; -1: none."
    )
    attempt: str = Field(alias="ocp.redrive.attempt", pattern="^[0-9]+$", description="How often it was redriven.")
    path: str | None = Field(
        None, alias="ocp.errors.path", description="`run.signals[3]`: the value is this signal out of a good document."
    )


RECORD: TypeAdapter[AddedHeaders] = TypeAdapter(AddedHeaders)
