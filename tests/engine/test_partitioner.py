"""Our murmur2 against the vectors of Kafka's own tests (UtilsTest.testMurmur2)."""

import pytest

from processor.partitioner import murmur2, partition_of

VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "hashed"), VECTORS.items())
def test_murmur2(key: bytes, hashed: int) -> None:
    """The bits of Java's int."""
    assert murmur2(key) == hashed & 0xFFFFFFFF


def test_partition_of() -> None:
    """The sign bit is taken off before the remainder, as `Utils.toPositive` does."""
    assert partition_of(b"21", 7) == (-973932308 & 0x7FFFFFFF) % 7
