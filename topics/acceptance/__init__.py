"""`acceptance`: each run's acceptance after an input, one record for each input that was applied.

Key: run id. Value: `Acceptance`, or null when the run was forgotten. Clean-up: compact, so that the newest of each run
stays. Headers: `content-type` and CloudEvents 1.0 in binary mode, type `ocp.acceptance.evaluated.v1`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from topics.runs import Days, Ordinal
from topics.signals import Better, Id, Number, Public, Scale, Source, Text200, Text500, Tier, Timestamp

Status = Literal["accepted", "rejected", "unknown"]
Commit = Annotated[str, Field(pattern="^[0-9a-f]{7,64}$")]


class ScoreTarget(Public):
    """The rule's score clause, its defaults filled in."""

    name: Text200
    target: Number
    better: Better
    scale: Scale


class Rule(Public):
    """The rule that was applied, its defaults filled in."""

    name: Text200
    requires: list[Text200]
    score: ScoreTarget | None
    excludes_events: list[Text200]
    window_days: Days


class AcceptedAtAttempt(Public):
    """The attempt after which all verdict and score clauses first held."""

    id: Text200
    number: Ordinal | None = Field(description="`attempts[].n`, else its place among its node's attempts, else null.")


class CountedEvent(Public):
    """A late event that counts against the run."""

    id: Id
    name: Text200
    value: Text500
    source: Source | None
    observed_at: Timestamp
    days_after_end: float | None = Field(description="Days of 24 hours, two decimals; null for a run without an end.")
    tier: Tier
    commit: Commit | None = Field(description="The run's sha that the event is about; null when it came in `signals`.")
    match: Literal["exact", "prefix"] | None


class Coordinates(Public):
    """Where the input that led to this record was read."""

    topic: str
    partition: Annotated[int, Field(ge=0)]
    offset: Annotated[int, Field(ge=0)]
    recorded_at: Timestamp | None = Field(description="The input record's own timestamp.")


class Cause(Coordinates):
    """The input that was applied."""

    signal: Id | None = Field(description="The signal's id; null for a document.")


class Answer(Public):
    """What is known of a run; shared by `acceptance`, `acceptance-changed` and `acceptance-reversed`."""

    run_id: Id
    version: Annotated[int, Field(ge=1)] = Field(description="The number of inputs applied to this run.")
    status: Status = Field(description="The Kleene AND of the rule's clauses.")
    reversed: bool = Field(description="A late event counts, and the run had been accepted.")
    reasons: list[str] = Field(description="`failed:<name>`, `missing:<name>`, `late:<name>`, … in the rule's order.")
    tier: Tier | None = Field(description="The weakest among the signals used.")
    rule: Rule | None
    title: Text500 | None
    workspace: Text500 | None
    labels: dict[str, Text500]
    ended_at: Timestamp | None
    window_closes_at: Timestamp | None = Field(
        description="Null without an end, without a rule, or when it never does."
    )
    settled: bool = Field(description="Whether the window has closed.")
    expired: bool = Field(False, description="The run's state was let go; this answer stays, and no input changes it.")
    accepted_at: Timestamp | None = Field(description="When all verdict and score clauses first held.")
    accepted_at_attempt: AcceptedAtAttempt | None
    used: list[Id] = Field(description="Ids of the signals that decided, in the rule's order, then the late events.")
    late_events: list[CountedEvent]
    violations: list[str] = Field(description="Breaches of OCP across records: reported, never fatal.")
    truncated: bool = Field(description="Superseded signals gave way, since the run's state was full.")


class Acceptance(Answer):
    """A run's acceptance after an input."""

    cause: Cause


RECORD: TypeAdapter[Acceptance | None] = TypeAdapter(Acceptance | None)
