"""A progress line on stderr."""

import sys
import time


class Line:
    """Called with the number of finished frames and the total; writes at most ten times a second."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if done < total and now - self._last < 0.1:
            return
        self._last = now
        left = (now - self._start) / max(done, 1) * (total - done)
        end = "\n" if done >= total else ""
        print(f"\rframe {done}/{total}, {left:.0f} s left ", end=end, file=sys.stderr, flush=True)
