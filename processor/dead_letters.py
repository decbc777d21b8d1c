"""Bad records, as they are set aside: key, value and headers as received, and why, in added headers.

The names are those that Kafka Streams uses, where it has one; all values are UTF-8 text.
"""

import hashlib
from typing import Final

import orjson

from processor.acceptance import Origin
from processor.decode import BadRecord, header_bytes
from processor.record import DEAD_LETTERS, Headers, Output

MOST_MESSAGE: Final = 1_000  # code points; it may quote a name out of the record
MOST_HEADERS: Final = 1_048_576  # bytes; such a record is `too_large`
MOST_REPEATED_HEADERS: Final = 8_192  # bytes; a document's headers go with each bad signal in it
MOST_DIGITS: Final = 10
REDRIVE_ATTEMPT: Final = "ocp.redrive.attempt"


def dead_letter(
    reason: BadRecord,
    origin: Origin,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
    *,
    path: str | None = None,
) -> Output:
    """`path`: where in a good document the value stood, `run.signals[3]`."""
    if reason.code == "too_large" and value is not None:
        value = orjson.dumps({"length": len(value), "sha256": hashlib.sha256(value).hexdigest()})
    if header_bytes(headers) > (MOST_HEADERS if path is None else MOST_REPEATED_HEADERS):
        headers = ()
    attempt = next((found for name, found in reversed(headers) if name == REDRIVE_ATTEMPT and found), b"0")
    attempts = int(attempt) if attempt.isdigit() and len(attempt) < MOST_DIGITS else 0  # anyone can write that header
    added = [
        ("__streams.errors.exception", type(reason).__name__.encode()),
        ("__streams.errors.message", str(reason)[:MOST_MESSAGE].encode(errors="backslashreplace")),
        ("__streams.errors.topic", origin.topic.encode()),
        ("__streams.errors.partition", b"%d" % origin.partition),
        ("__streams.errors.offset", b"%d" % origin.offset),
        ("ocp.errors.code", reason.code.encode()),
        ("ocp.errors.timestamp", b"%d" % (-1 if origin.timestamp is None else origin.timestamp)),
        (REDRIVE_ATTEMPT, b"%d" % attempts),
        *([] if path is None else [("ocp.errors.path", path.encode())]),
    ]
    received = [header for header in headers if header[0] != REDRIVE_ATTEMPT]
    return Output(DEAD_LETTERS, key, value, [*received, *added])
