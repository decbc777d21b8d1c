"""A partition without a broker: limits, order, the chain."""

import asyncio
from collections import Counter
from collections.abc import Mapping

import pytest
from aiokafka import ConsumerRecord, TopicPartition

from processor.engine import partition as partition_module
from processor.engine import positions
from processor.engine.intake import Chunk, Intake
from processor.engine.partition import Limits, Partition
from processor.engine.publish import Entries, Entry
from processor.engine.routes import routes
from processor.record import ACCEPTANCE, RUN_INPUTS, RUNS, SIGNALS
from processor.settings import Settings
from tests.e2e.toy import Counting

COUNTS = dict.fromkeys(
    ("acceptance", "acceptance-changed", "acceptance-reversed", "acceptance-dead-letters", RUN_INPUTS, "commit-index"),
    4,
)
SIGNALS_0 = TopicPartition("signals", 0)


class Published:
    """Stands in for a publisher: remembers, and looks at the table while the transaction is open."""

    def __init__(self, table: Counting) -> None:
        self.table = table
        self.batches: list[tuple[Entries, list[Entry], dict[TopicPartition, int]]] = []
        self.rows_while_open: list[dict[bytes, bytes]] = []

    async def publish(self, outputs: Entries, rows: list[Entry], moved: Mapping[TopicPartition, int]) -> int | None:
        self.rows_while_open.append(dict(self.table.rows))
        self.batches.append((outputs, rows, dict(moved)))
        return 100


def limits(records: int, output_bytes: int) -> Limits:
    return Limits(records, output_bytes, stop_on_bad_input=False)


def partition(limited: Limits) -> Partition:
    table = Counting(lambda _key: True)
    return Partition(
        name="runs-0",
        number=0,
        epoch=0,
        intake=Intake(),
        logical={topic: topic for topic in (RUNS, SIGNALS)},
        table=table,
        positions={RUNS: 0, SIGNALS: 10},
        end=0,
        publisher=Published(table),  # type: ignore[arg-type]
        routes=routes(Settings(), COUNTS, 0),
        limits=limited,
        counts=Counter(),
    )


def chunk(tp: TopicPartition, start: int, offsets: list[int], end: int, value: bytes = b"") -> Chunk:
    records = [ConsumerRecord(*tp, o, 5, 0, b"run_%d" % (o % 3), value, None, 1, 1, ()) for o in offsets]
    return Chunk(0, tp, start, end, records)


def serve(one: Partition, *chunks: Chunk) -> Published:
    """Work these chunks off; what was published."""

    async def run() -> None:
        for each in chunks:
            one.take(each)
        while one.queue:
            await one.publish(one.next_batch())

    asyncio.run(run())
    return one.publisher  # type: ignore[return-value]


def test_chunks_of_several_inputs_share_a_transaction() -> None:
    """Two inputs, one transaction; its positions row has both, and what moved is told to the group."""
    one = partition(limits(100, 10_000))
    published = serve(one, chunk(SIGNALS_0, 10, [10, 12], 15), chunk(TopicPartition(RUNS, 0), 0, [0], 1))
    [(outputs, rows, moved)] = published.batches
    assert len(outputs[TopicPartition(ACCEPTANCE, 0)]) == 3
    assert positions.decode(rows[-1][1] or b"", "log") == {RUNS: 1, SIGNALS: 15}
    assert moved == {SIGNALS_0: 15, TopicPartition(RUNS, 0): 1}


def test_an_empty_chunk_moves_the_position() -> None:
    """Markers and aborted records only: no output, but a transaction with the new position."""
    one = partition(limits(100, 10_000))
    [(outputs, rows, _)] = serve(one, chunk(SIGNALS_0, 10, [], 17)).batches
    assert (outputs, one.positions[SIGNALS]) == ({}, 17)
    assert len(rows) == 1


def test_the_number_of_records_is_limited() -> None:
    """A chunk is split where the limit is; the position is the next record's offset, so gaps stay explained."""
    one = partition(limits(2, 10_000))
    published = serve(one, chunk(SIGNALS_0, 10, [10, 11, 14, 15, 20], 30))
    assert [moved[SIGNALS_0] for _, _, moved in published.batches] == [14, 20, 30]


def test_the_bytes_of_output_are_limited() -> None:
    """After the limit is reached no further record is taken in."""
    one = partition(limits(100, 1_000))
    published = serve(one, chunk(SIGNALS_0, 10, [10, 11, 12], 13, b"pad 2000"))
    assert len(published.batches) == 3


def test_the_bytes_of_rows_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that turn out too large: the batch is folded again with half the records, and counts nothing twice."""
    monkeypatch.setattr(partition_module, "ROWS_TO_OUTPUTS", 0.0001)
    one = partition(limits(100, 10_000))
    published = serve(one, chunk(SIGNALS_0, 10, [10, 11, 12, 13], 14))
    assert len(published.batches) > 1
    assert one.table.rows == {b"run_0": b"1", b"run_1": b"2", b"run_2": b"1"}  # type: ignore[attr-defined]


def test_the_table_knows_a_batch_when_it_is_committed() -> None:
    """While the transaction is open the table has only what was committed before."""
    one = partition(limits(1, 10_000))
    published = serve(one, chunk(SIGNALS_0, 10, [10, 13], 14))
    assert published.rows_while_open == [{}, {b"run_1": b"1"}]


def test_a_chunk_out_of_the_chain_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gap between the position and a chunk is never passed over."""

    def died(sentence: str, code: int) -> None:
        raise SystemExit(f"{code} {sentence}")

    monkeypatch.setattr(partition_module, "die", died)
    with pytest.raises(SystemExit, match=r"70 a chunk of signals-0 begins at 12, the state is at 10"):
        serve(partition(limits(100, 10_000)), chunk(SIGNALS_0, 12, [12], 13))
