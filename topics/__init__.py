"""The published contract: for each topic its record's model, its JSON Schema and its examples, and nothing else."""

from types import ModuleType
from typing import Final

from topics import (
    acceptance,
    acceptance_changed,
    acceptance_dead_letters,
    acceptance_reversed,
    commit_events,
    runs,
    signals,
)

TOPICS: Final[dict[str, ModuleType]] = {
    "runs": runs,
    "signals": signals,
    "commit-events": commit_events,
    "acceptance": acceptance,
    "acceptance-changed": acceptance_changed,
    "acceptance-reversed": acceptance_reversed,
    "acceptance-dead-letters": acceptance_dead_letters,
}
