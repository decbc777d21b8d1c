"""Big records that are legal go through; what is over the limit is a dead letter, never the end of the worker."""

import hashlib

from processor.record import ACCEPTANCE, DEAD_LETTERS, SIGNALS
from tests.e2e.test_guarantees import verdict
from tests.e2e.world import World
from tests.waiting import until

MEBIBYTE = 1_048_576
BIG = {"message.max.bytes": 3 * MEBIBYTE}


def test_a_big_bad_record_is_a_dead_letter(here: World) -> None:
    """A value of exactly MAX_RECORD_BYTES that cannot be read: its dead letter, headers added, is over 1 MiB."""
    here.create()
    worker = here.worker()
    junk = b"x" * MEBIBYTE
    here.produce([(SIGNALS, b"run_1", junk), (SIGNALS, b"run_1", verdict(1))], **BIG)
    worker.wait(lambda: here.read(ACCEPTANCE), "the record after it is worked on")
    [letter] = here.read(DEAD_LETTERS)
    assert letter.value() == junk


def test_a_record_that_is_too_large_is_a_dead_letter(here: World) -> None:
    """A value over the limit: its length and digest are kept."""
    here.create()
    worker = here.worker()
    junk = b"x" * (MEBIBYTE + 1)
    here.produce([(SIGNALS, b"run_1", junk), (SIGNALS, b"run_1", verdict(1))], **BIG)
    worker.wait(lambda: here.read(ACCEPTANCE), "the record after it is worked on")
    [letter] = here.read(DEAD_LETTERS)
    assert hashlib.sha256(junk).hexdigest().encode() in (letter.value() or b"")


def test_a_record_without_key_and_value_is_a_dead_letter(here: World) -> None:
    """Null key, null value, a header that is null: all are kept as received."""
    here.create()
    worker = here.worker()
    producer = here.producer()
    producer.produce(here.name(SIGNALS), key=None, value=None, headers=[("h", None)])
    producer.flush(30)
    worker.wait(lambda: here.read(DEAD_LETTERS), "the dead letter")
    [letter] = here.read(DEAD_LETTERS)
    assert (letter.key(), letter.value()) == (None, None)
    assert ("h", None) in (letter.headers() or [])


def test_many_big_outputs_are_several_transactions(here: World) -> None:
    """Outputs of far more than BATCH_MAX_BYTES are split, and each input is applied once."""
    here.create()
    here.produce((SIGNALS, b"run_%d" % (n % 5), b"pad 500000") for n in range(100))
    here.worker("--toy", BATCH_MAX_BYTES="1000000")
    here.settle([SIGNALS])
    until(lambda: len(here.read(ACCEPTANCE)) >= 100, "all outputs")
    assert len(here.read(ACCEPTANCE)) == 100
