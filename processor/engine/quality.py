"""Whether an input is any good: when nearly everything on a partition is bad, somebody has to look at its producer.

Costs nothing for a good record.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

IN_A_ROW: Final = 1_000
WINDOW: Final = 2_000  # records, of which half may be bad


@dataclass(slots=True)
class Quality:
    """Of one input partition. Not kept: it begins anew with each assignment."""

    bad: deque[int] = field(default_factory=deque)  # numbers of the bad records in the window
    in_a_row: int = 0
    said: bool = False

    def note_bad(self, number: int) -> str | None:
        """The record of this number (they count up by 1) is bad; what there is to say, once until it is better."""
        previous = self.bad[-1] if self.bad else None
        self.in_a_row = self.in_a_row + 1 if previous == number - 1 else 1
        self.bad.append(number)
        while self.bad[0] <= number - WINDOW:
            self.bad.popleft()
        if self.in_a_row < IN_A_ROW and len(self.bad) <= WINDOW // 2:
            self.said = self.said and len(self.bad) > WINDOW // 4
            return None
        if self.said:
            return None
        self.said = True
        if self.in_a_row >= IN_A_ROW:
            return f"{self.in_a_row:,} records in a row are bad"
        return f"{len(self.bad):,} of the last {WINDOW:,} records are bad"
