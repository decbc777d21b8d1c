"""How much a run may hold, and what gives way: "superseded verdicts and scores, oldest first".

"The latest of a name, the signals that count at `accepted_at`, and events never do": neither the status nor an alert is
lost to a limit. What goes is the oldest, so no signal that stays is taken for an older one's successor.
"""

from typing import Final, NamedTuple

from processor.decode import BadRecord, Filed
from processor.evaluate import judge, signals_of
from processor.state import EVENT, Run, Signal, decode_file, encode

A_SHARE: Final = 20  # a twentieth gives way at once, since to make room means to judge the run anew
A_PLACE: Final = 4  # how often at most what a signal says is kept: in its file, among the ids, in a clause, as shown


class Limits(NamedTuple):
    """Of one run: distinct signals, and bytes of its encoded row."""

    signals: int
    row_bytes: int

    def near(self, run: Run, size: int) -> bool:
        """Whether one more signal, in so many bytes, might pass a limit."""
        return run.row.count >= self.signals or run.size + A_PLACE * size >= self.row_bytes

    def hold(self, run: Run) -> None:
        """Makes room until the run is within its limits; raises BadRecord (`run_full`) when nothing can give way."""
        run.size = len(run.encoded())
        if self._fits(run):
            return
        candidates = superseded(run)
        run.row.truncated = True
        while not self._fits(run):
            if not candidates:
                raise BadRecord(
                    "run_full",
                    f"the run would hold {run.row.count} signals in {run.size} bytes, of at most {self.signals} in "
                    f"{self.row_bytes}, and none is superseded: leave signals out of its document or start a new run",
                )
            excess = max(1, run.row.count - self.signals, run.row.count // A_SHARE)
            _drop(run, {filed for *_, filed in candidates[:excess]})
            del candidates[:excess]
            judge(run)
            run.size = len(run.encoded())

    def _fits(self, run: Run) -> bool:
        return run.row.count <= self.signals and run.size <= self.row_bytes


def superseded(run: Run) -> list[tuple[int, str, bytes, Filed]]:
    """The verdicts and scores that may give way, oldest first; "of one instant the smaller id first"."""
    found = []
    for file in {**run.row.files, **run.row.embedded}:
        if not file.startswith(EVENT):
            signals = signals_of(run, file)
            needed = _needed(run, file, signals)
            found += [(s.at, s.id, encode(s), (file, s)) for s in signals if s.at not in needed]
    return sorted(found)


def _needed(run: Run, file: str, signals: list[Signal]) -> set[int]:
    """The instants of a file whose signals stay."""
    measured = [s.at for s in signals if s.value is not None]
    needed = {max(s.at for s in signals), *([max(measured)] if measured else [])}
    accepted_at = run.judged.accepted_at
    if accepted_at is not None and any(clause.file == file for clause in run.judged.clauses):
        needed.add(max(at for at in measured if at <= accepted_at))
    return needed


def _drop(run: Run, gone: set[Filed]) -> None:
    for files in (run.row.files, run.row.embedded):
        for file in {file for file, _ in gone} & files.keys():
            left = [s for s in decode_file(files[file]) if (file, s) not in gone]
            if left:
                files[file] = encode(left)
            else:
                del files[file]
