"""The settings, read from the environment; each name in upper case is the variable's."""

from typing import Annotated

from pydantic import Field, StringConstraints
from pydantic_settings import BaseSettings, SettingsConfigDict

from processor import record

LOGICAL_TOPICS = (
    record.RUNS,
    record.SIGNALS,
    record.COMMIT_EVENTS,
    record.ACCEPTANCE,
    record.CHANGED,
    record.REVERSED,
    record.DEAD_LETTERS,
)
Servers = Annotated[str, StringConstraints(max_length=2_000, pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$")]  # it is printed
TopicName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,200}$")]


class Settings(BaseSettings):
    """What can be set. A value that cannot be read is refused at start, with its name."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    kafka_bootstrap_servers: Servers = Field(
        "localhost:9092", description="Brokers to connect to first: `host:port`, several separated by commas."
    )
    application_id: TopicName = Field(
        "ocp-acceptance",
        description="Names the consumer group, the transactional ids and the internal topics. Another id begins anew.",
    )
    topic_prefix: Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{0,100}$")] = Field(
        "", description="Put in front of every public topic's name that is not overridden below."
    )
    topic_runs: TopicName | None = Field(None, description="Name of the `runs` topic.")
    topic_signals: TopicName | None = Field(None, description="Name of the `signals` topic.")
    topic_commit_events: TopicName | None = Field(None, description="Name of the `commit-events` topic.")
    topic_acceptance: TopicName | None = Field(None, description="Name of the `acceptance` topic.")
    topic_acceptance_changed: TopicName | None = Field(None, description="Name of the `acceptance-changed` topic.")
    topic_acceptance_reversed: TopicName | None = Field(None, description="Name of the `acceptance-reversed` topic.")
    topic_acceptance_dead_letters: TopicName | None = Field(
        None, description="Name of the `acceptance-dead-letters` topic."
    )
    topic_partitions: Annotated[int, Field(ge=1)] = Field(
        4, description="Partitions of the topics that `acceptance topics apply` creates. Later it cannot be changed."
    )
    topic_replication_factor: Annotated[int, Field(ge=1)] = Field(
        1, description="Replicas of the topics that `acceptance topics apply` creates; 3 in production."
    )
    max_signals_per_run: Annotated[int, Field(ge=1)] = Field(
        1_000, description="Signals a run may hold; then superseded ones give way."
    )
    max_row_bytes: Annotated[int, Field(ge=1_000, le=900_000)] = Field(
        900_000, description="Bytes the state of one run may take; then superseded signals give way."
    )
    max_record_bytes: Annotated[int, Field(ge=1_000, le=1_048_576)] = Field(
        1_048_576,
        description="Largest value of an input record, in bytes; a larger one is dead-lettered as `too_large`.",
    )
    stop_on_bad_input: bool = Field(
        False, description="Stop (exit 65) when a partition's input is nearly all bad; else it is only said in the log."
    )
    settle_grace_seconds: Annotated[int, Field(ge=0)] = Field(
        86_400,
        description="Seconds after its window has closed until a run is `settled`, once all input of then was read.",
    )
    state_retention_days: Annotated[float, Field(gt=0)] = Field(
        90,
        description="Days after its window has closed that a run's state is kept, from when nothing is heard of it. "
        "Then its last answer stays, `expired`. For as long again a stub keeps its counters.",
    )
    commit_retention_days: Annotated[float, Field(gt=0)] = Field(
        45,
        description="Days that a commit event which no run matches, and signals of a run without a document, are kept.",
    )
    batch_max_records: Annotated[int, Field(ge=1)] = Field(5_000, description="Most input records in one transaction.")
    batch_max_bytes: Annotated[int, Field(ge=100_000)] = Field(
        8_388_608, description="Bytes of output after which a transaction takes no more input."
    )
    session_timeout_seconds: Annotated[int, Field(ge=1)] = Field(
        6, description="Seconds without a heartbeat after which a worker's partitions go to the others."
    )
    rebalance_timeout_seconds: Annotated[int, Field(ge=2)] = Field(
        10, description="Seconds that workers have to let go of their partitions when they are shared out anew."
    )
    transaction_timeout_seconds: Annotated[int, Field(ge=1)] = Field(
        15, description="Seconds after which the broker ends a worker's open transaction."
    )

    def topic(self, logical: str) -> str:
        """What the topic of this logical name is called on the broker."""
        if logical in LOGICAL_TOPICS:
            named: str | None = getattr(self, "topic_" + logical.replace("-", "_"))
            return named or self.topic_prefix + logical
        return f"{self.application_id}-{logical}"  # internal
