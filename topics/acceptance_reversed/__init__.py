"""`acceptance-reversed`: the alert feed. Key: run id. Clean-up: delete, 30 days.

A record when a run's `reversed` turns true (page somebody), and one when it turns false again (resolve). The same
record
as on `acceptance-changed`; header `ce_type` is `ocp.acceptance.reversed.v1`.
"""

from pydantic import TypeAdapter

from topics.acceptance_changed import AcceptanceChanged

RECORD: TypeAdapter[AcceptanceChanged] = TypeAdapter(AcceptanceChanged)
