"""`runs`: OCP 0.3 documents. Key: run id. Value: the document; null forgets the run. Clean-up: compact.

Only what is used here is described and checked; a document may hold anything else.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from topics import signals
from topics.signals import Better, Id, Number, Public, Scale, Text100, Text200, Text500, Timestamp


def _whole(value: object) -> object:
    """JSON Schema's integer: 14.0 is one. Past 64 bits it stays a double."""
    if isinstance(value, float):
        if not value.is_integer():
            raise PydanticCustomError("int_type", "Input should be a whole number")
        return int(value) if -(2**63) <= value < 2**64 else value
    return value


Days = Annotated[Number, Field(ge=0), BeforeValidator(_whole), WithJsonSchema({"type": "integer", "minimum": 0})]
Ordinal = Annotated[Number, Field(ge=1), BeforeValidator(_whole), WithJsonSchema({"type": "integer", "minimum": 1})]


T = TypeVar("T")
Items = Annotated[list[T], Field(fail_fast=True)]  # the first bad item says enough; half a million would say too much


class _Signal:
    """Anything, described as a signal: who reads the document checks each by itself."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(signals.RECORD.core_schema)


EmbeddedSignal = Annotated[Any, _Signal]


class ScoreTarget(Public):
    """The number that a measured score has to reach."""

    name: Text200
    target: Number
    better: Better
    scale: Scale | None = Field(None, description="`linear` when absent.")

    @model_validator(mode="after")
    def _fraction(self) -> "ScoreTarget":
        if self.scale == "fraction" and not 0 <= self.target <= 1:
            raise PydanticCustomError("E195", "a target of scale fraction lies in [0, 1]")
        return self


class AcceptanceRule(Public):
    """Which signals make the run a success: "the rule in effect when the run was recorded; it travels with the run"."""

    name: Text200
    definition: Text500 = Field(description="For people.")
    requires: Items[Text200] | None = Field(None, description="Names of verdicts that must pass.")
    score: ScoreTarget | None = None
    excludes_events: Items[Text200] | None = Field(
        None, description="Names of events that reject the run inside the window; `revert`, `incident` when absent."
    )
    window_days: Days | None = Field(
        None, description="Days of 24 hours after the run's end, inclusive; 14 when absent."
    )


class Run(Public):
    """One piece of orchestrated work."""

    id: Id
    title: Text500 | None = None
    workspace: Text500 | None = None
    labels: dict[str, Text500] | None = None
    ended_at: Timestamp | None = None
    acceptance_rule: AcceptanceRule | None = None
    signals: Items[EmbeddedSignal] | None = Field(
        None, description="Signals as on `signals`, each read by itself: a bad one does not spoil the document."
    )


class Attempt(Public):
    """A try of a node."""

    id: Id
    node: Text200
    n: Ordinal | None = Field(None, description="Its place among the node's attempts, from 1.")


class ArtifactKind(Public):
    """What an artifact is; a run is bound to the commits of its `commit` and `merge` artifacts."""

    value: Text100 | None


class Artifact(Public):
    """What an attempt produced. A commit's `path` or `id` is its sha."""

    id: Id
    path: Annotated[str, StringConstraints(min_length=1, max_length=1000)]
    kind: ArtifactKind


class RunDocument(Public):
    """An OCP document, as far as it is read here."""

    ocp: Literal["0.3"]
    run: Run
    attempts: Items[Attempt] | None = None
    artifacts: Items[Artifact] | None = None


RECORD: TypeAdapter[RunDocument] = TypeAdapter(RunDocument)
