"""The settings, read from the environment; each name in upper case is the variable's."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator
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
SaslName = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\p{C}\p{Zl}\p{Zp}]+$")]
TopicName = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9._-]{1,200}$")]

OURS = ("KAFKA_SECURITY_", "KAFKA_SASL_", "KAFKA_SSL_")  # a variable that begins so is meant for us


class Settings(BaseSettings):
    """What can be set. A value that cannot be read is refused at start, with its name."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    kafka_bootstrap_servers: Servers = Field(
        "localhost:9092", description="Brokers to connect to first: `host:port`, several separated by commas."
    )
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="What the brokers' port speaks: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`."
    )
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(
        None, description="How the user is authenticated: `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`."
    )
    kafka_sasl_username: SaslName | None = Field(None, description="The user.")
    kafka_sasl_password: SecretStr | None = Field(None, description="The user's password.")
    kafka_sasl_password_file: Path | None = Field(None, description="A file with the password, instead of it.")
    kafka_ssl_ca_file: Path | None = Field(
        None, description="The certificates (PEM) of those who may sign a broker's; without it the system's."
    )
    kafka_ssl_certificate_file: Path | None = Field(
        None, description="The client's certificate (PEM, with its chain), where brokers ask for one."
    )
    kafka_ssl_key_file: Path | None = Field(None, description="The private key (PEM) of that certificate.")
    kafka_ssl_key_password: SecretStr | None = Field(None, description="The password of that key, if it has one.")
    kafka_ssl_key_password_file: Path | None = Field(None, description="A file with that password, instead of it.")
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

    @field_validator(
        "kafka_sasl_password_file",
        "kafka_ssl_ca_file",
        "kafka_ssl_certificate_file",
        "kafka_ssl_key_file",
        "kafka_ssl_key_password_file",
    )
    @classmethod
    def _can_be_read(cls, path: Path | None) -> Path | None:
        if path is not None:
            try:
                path.open("rb").close()
            except OSError as error:
                raise ValueError(f"this file cannot be read ({error.strerror})") from error
        return path

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for contradiction in _contradictions(self):
            raise ValueError(contradiction)
        return self

    @property
    def sasl(self) -> bool:
        """Whether the user is authenticated by name and password."""
        return self.kafka_security_protocol.startswith("SASL_")

    @property
    def tls(self) -> bool:
        """Whether connections are encrypted, and brokers authenticated."""
        return self.kafka_security_protocol.endswith("SSL")

    def topic(self, logical: str) -> str:
        """What the topic of this logical name is called on the broker."""
        if logical in LOGICAL_TOPICS:
            named: str | None = getattr(self, "topic_" + logical.replace("-", "_"))
            return named or self.topic_prefix + logical
        return f"{self.application_id}-{logical}"  # internal


def _contradictions(settings: Settings) -> Iterable[str]:
    """What does not go together, each with what to do."""
    given = [name.upper() for name in Settings.model_fields if getattr(settings, name) is not None]
    sasl, tls = ([name for name in given if name.startswith(prefix)] for prefix in OURS[1:])
    protocol = f"KAFKA_SECURITY_PROTOCOL={settings.kafka_security_protocol}"
    for secret in ("KAFKA_SASL_PASSWORD", "KAFKA_SSL_KEY_PASSWORD"):
        if secret in given and f"{secret}_FILE" in given:
            yield f"{secret} and {secret}_FILE are both set; unset one of them"
    if sasl and not settings.sasl:
        yield f"{', '.join(sasl)} set, but {protocol} has no SASL; make it SASL_SSL, or unset what is for SASL"
    if tls and not settings.tls:
        yield f"{', '.join(tls)} set, but {protocol} has no TLS; make it SSL or SASL_SSL, or unset what is for TLS"
    if settings.sasl:
        missing = [name for name in ("KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME") if name not in given]
        if not {"KAFKA_SASL_PASSWORD", "KAFKA_SASL_PASSWORD_FILE"} & set(given):
            missing.append("KAFKA_SASL_PASSWORD (or KAFKA_SASL_PASSWORD_FILE)")
        if missing:
            yield f"{protocol} needs {', '.join(missing)}; set what is missing"
    certificate, key = ("KAFKA_SSL_CERTIFICATE_FILE" in given, "KAFKA_SSL_KEY_FILE" in given)
    if certificate != key:
        has, lacks = ("CERTIFICATE", "KEY") if certificate else ("KEY", "CERTIFICATE")
        yield f"KAFKA_SSL_{has}_FILE is set and KAFKA_SSL_{lacks}_FILE is not; set both or none"
    if not key and any(name.startswith("KAFKA_SSL_KEY_PASSWORD") for name in given):
        yield "a password for a key is set and KAFKA_SSL_KEY_FILE is not; set it, or unset the password"


def unknown(variables: Iterable[str]) -> list[str]:
    """Those environment variables that are meant for us, by their beginning, and that are none of ours."""
    return [v for v in variables if v.upper().startswith(OURS) and v.lower() not in Settings.model_fields]
