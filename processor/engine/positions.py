"""The positions row: in the changelog beside the rows, the offset at which each input partition is to be read on.

Law: rows and positions are written together, so the positions are always those that the rows were made up to.
"""

from collections.abc import Mapping

import orjson

from processor.engine.exits import Refused

KEY = b"\xffpositions"  # not UTF-8, so no run id and no commit is called so
FORMAT = 1  # of the rows as well: another number means rows that this program cannot read

Positions = dict[str, int]  # a topic's name on the broker → the next offset


def encode(positions: Mapping[str, int]) -> bytes:
    """The row's value."""
    return orjson.dumps({"format": FORMAT, "positions": positions})


def decode(value: bytes, changelog: str) -> Positions:
    """The positions; Refused when the row was written in another format."""
    try:
        row = orjson.loads(value)
        found, positions = row["format"], row["positions"]
    except (ValueError, KeyError, TypeError):
        found, positions = None, {}
    if found != FORMAT:
        raise Refused(
            f"{changelog} was written in storage format {found}, this program reads format {FORMAT}. Run the version "
            "that wrote it, or begin anew with another APPLICATION_ID"
        )
    return {str(topic): int(offset) for topic, offset in positions.items()}
