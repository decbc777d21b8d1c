"""Which partition a key belongs on: murmur2 as Kafka's Java client computes it (Utils.murmur2, BuiltInPartitioner).

Law: the same key and count give the same partition in every process, for ever; state would be split otherwise.
"""

from struct import unpack_from

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """The unsigned 32-bit hash; Java's int of the same bits."""
    length = len(key)
    words = length >> 2
    h = _SEED ^ length
    for k in unpack_from(f"<{words}I", key):
        k = k * _M & _MASK
        h = h * _M & _MASK ^ (k ^ k >> 24) * _M & _MASK
    if length & 3:
        h = (h ^ int.from_bytes(key[words << 2 :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, count: int) -> int:
    """The partition, of `count`, that Java's default partitioner puts this key on."""
    return (murmur2(key) & 0x7FFFFFFF) % count
