"""`signals`: judgements about runs, as OCP 0.3 has them. Key: run id. Value: one signal. Clean-up: delete.

A signal is a verdict, a score or a late event: "`kind` fixes what `value` may be".
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator
from pydantic_core import PydanticCustomError

TIMESTAMP_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"

Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Text100 = Annotated[str, StringConstraints(max_length=100)]
Text200 = Annotated[str, StringConstraints(max_length=200)]
Text500 = Annotated[str, StringConstraints(max_length=500)]
Timestamp = Annotated[str, StringConstraints(pattern=TIMESTAMP_PATTERN)]  # RFC 3339 with an explicit offset
Number = int | float  # an integer of up to 64 bits, exact, or a double; a boolean is no number
Better = Literal["higher", "lower"]
Scale = Literal["linear", "log", "fraction"]
Tier = Literal["verified", "reported", "heuristic", "asserted"]  # strongest first


class Public(BaseModel):
    """A part of a public record. Unknown members are ignored, here and by every reader."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Source(Public):
    """Who observed it. Usual kinds: orchestrator, user, ci, tracker, judge, inferred."""

    kind: Text100
    ref: Text500 | None = None


class SignalMembers(Public):
    """What every kind of signal has. An optional member that is null reads as absent; `ext` is never read."""

    id: Id
    name: Text200 = Field(description="What was judged. Compared exactly, code point by code point.")
    unit: Text100 | None = None
    better: Better | None = None
    target: Number | None = Field(None, description="What the observer had in mind; the rule's own target decides.")
    scale: Scale | None = None
    at_attempt: Text200 | None = Field(None, description="The attempt after which a verdict applies.")
    observed_at: Timestamp = Field(description="When it was observed: the time that decides, to the nanosecond.")
    source: Source | None = None
    tier: Tier = Field(description="How the signal is known.")


class Verdict(SignalMembers):
    """A judgement in a word. `error` is neither pass nor fail."""

    kind: Literal["verdict"]
    value: Literal["accept", "reject", "pass", "fail", "error"]


class Score(SignalMembers):
    """A measured number, or null while it is declared but not measured."""

    kind: Literal["score"]
    value: Number | None

    @model_validator(mode="after")
    def _fraction(self) -> "Score":
        if self.scale == "fraction" and self.value is not None and not 0 <= self.value <= 1:
            raise PydanticCustomError("E195", "a score of scale fraction lies in [0, 1]")
        return self


class LateEvent(SignalMembers):
    """Something that happened to the result later: a revert, an incident. The value is a reference."""

    kind: Literal["event"]
    value: Text500


Signal = Annotated[Verdict | Score | LateEvent, Field(discriminator="kind")]
RECORD: TypeAdapter[Verdict | Score | LateEvent] = TypeAdapter(Signal)
