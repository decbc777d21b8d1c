"""What a command, or a worker that starts, ends with when it cannot go on."""


class Failure(Exception):
    """The text says what was wrong, where, and what to do; the code is that of sysexits."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code
