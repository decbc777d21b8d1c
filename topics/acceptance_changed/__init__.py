"""`acceptance-changed`: one record for each transition of a run. Key: run id. Clean-up: delete, 30 days.

Headers: as on `acceptance`, type `ocp.acceptance.changed.v1`, and `transition`.
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from topics.acceptance import Answer, Coordinates, Status
from topics.signals import Signal

Transition = Literal["accepted", "rejected", "withdrawn", "reinstated", "reversed", "cleared", "settled", "reopened"]


class FullCause(Coordinates):
    """The input that made the difference, with its signal."""

    kind: Literal["signal", "run", "settlement"]
    signal: Signal | None = Field(description="The whole signal; null for a document or a settlement.")


class AcceptanceChanged(Answer):
    """The run's acceptance, and what is new about it."""

    id: str = Field(description="`<run id>/<seq>/<topic>-<partition>-<offset of the cause>`: unique, and stable.")
    seq: Annotated[int, Field(ge=1)] = Field(description="1, 2, 3, … for each run, without gaps.")
    transition: Transition
    from_: Status = Field(alias="from", description="The previous change's `to`; `unknown` at first.")
    to: Status
    cause: FullCause
    after_settlement: bool = Field(False, description="Whether it came after the window had closed; absent: no.")


RECORD: TypeAdapter[AcceptanceChanged] = TypeAdapter(AcceptanceChanged)
