"""How the process ends. Law: what was committed is right, so any failure may end it at once; none may go unsaid.

Codes are those of sysexits: 70 a broken invariant of ours, 75 the broker or a newer owner (try again), 77 a
permission is lacking, 78 a person has to decide first.
"""

import logging
import os
import sys
from typing import NoReturn

from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    InvalidProducerEpoch,
    KafkaError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
    ProducerFenced,
    RecordTooLargeError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)

from processor.failure import Failure

log = logging.getLogger(__name__)
FAUST_LOG = logging.getLogger("faust")  # for our subclasses too: what services say of themselves is nothing to act on

FORBIDDEN = (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    SaslAuthenticationFailed,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)


class Refused(Exception):
    """State, topics and settings do not fit together. The text says what to do."""


def die(sentence: str, code: int) -> NoReturn:
    """Say why and end this process now, whatever its tasks and threads are doing."""
    log.critical("%s (exit %d)", sentence, code)
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)


def die_of(error: BaseException, doing: str) -> NoReturn:
    """End because of `error`, which came up while `doing` something."""
    if isinstance(error, Failure):
        die(str(error), error.code)
    if isinstance(error, Refused):
        die(str(error), os.EX_CONFIG)
    if isinstance(error, (ProducerFenced, InvalidProducerEpoch)):
        die(f"{doing}: another worker owns this partition now; start again to get a share", os.EX_TEMPFAIL)
    if isinstance(error, OffsetOutOfRangeError):
        die(
            f"{doing}: records expired before they were read ({error}). What they said is lost to this state: "
            "raise the topic's retention and begin anew with another APPLICATION_ID",
            os.EX_CONFIG,
        )
    if isinstance(error, (MessageSizeTooLargeError, RecordTooLargeError)):
        die(f"{doing}: {error}. Raise the topic's max.message.bytes (`acceptance topics check`)", os.EX_CONFIG)
    if isinstance(error, UnicodeDecodeError):
        die(
            f"{doing}: a record has a header whose name is not UTF-8, which the client library cannot read ({error}). "
            "Nothing is passed over: delete the partition's records up to it (kafka-delete-records) and begin anew "
            "with another APPLICATION_ID",
            os.EX_DATAERR,
        )
    if isinstance(error, FORBIDDEN):
        die(
            f"{doing}: the broker does not allow it any more: {error!r:.1000}. Start again to see what is "
            "lacking, with the commands that grant it",
            os.EX_NOPERM,
        )
    if isinstance(error, (KafkaError, OSError, TimeoutError)):
        die(f"{doing}: the broker failed us: {error!r:.1000}. Start again when it is back", os.EX_TEMPFAIL)
    log.critical("a broken invariant", exc_info=error)
    die(f"{doing}: {error!r:.1000}. This is a defect of this program; the state was left as it was", os.EX_SOFTWARE)
