"""Our murmur2 is the one that producers in Java use; librdkafka has it too, as `murmur2_random`."""

import random

from processor.partitioner import partition_of
from processor.record import SIGNALS
from tests.e2e.world import World


def test_keys_go_where_murmur2_puts_them(here: World) -> None:
    """Keys of every length from 1 to 200 bytes, and of letters outside ASCII."""
    here.create(partitions={SIGNALS: 7})
    chance = random.Random(7)
    keys = [chance.randbytes(length) for length in range(1, 201) for _ in range(5)]
    keys += ["lauf_ß".encode(), "走る".encode(), b"run_b4d2fde2f5170aec"]
    here.produce([(SIGNALS, key, b"") for key in keys], partitioner="murmur2_random")
    found = {m.key(): m.partition() for m in here.read(SIGNALS)}
    assert found == {key: partition_of(key, 7) for key in keys}
