"""`commit-events`: late events about a commit. Key: its sha, 7 to 64 hex digits. Value: one signal of kind `event`.

"A late event, such as a revert, […] about a commit is matched to its run through the run's `commit` or `merge`
artifact." Clean-up: delete.
"""

from pydantic import TypeAdapter

from topics.signals import LateEvent

RECORD: TypeAdapter[LateEvent] = TypeAdapter(LateEvent)
