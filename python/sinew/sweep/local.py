"""Points in processes of this machine.

One process per worker, fed one point at a time: when a process dies, only its point is affected. (A pool of
`concurrent.futures` breaks as a whole.) Workers are separate programs, so scripts need no `if __name__ == "__main__"`,
and notebooks work.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import asdict
from types import TracebackType

from .drive import Ending
from .plan import Task

PATIENCE = 10.0
"""Seconds that an interrupted run gets to write its checkpoint."""


class LocalBackend:
    """A number of processes, each with one thread."""

    def __init__(self, workers: int) -> None:
        self.tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self.endings: queue.SimpleQueue[Ending] = queue.SimpleQueue()
        self.workers = [_Worker() for _ in range(workers)]
        self.threads = [threading.Thread(target=self._serve, args=(w,), daemon=True) for w in self.workers]

    def __enter__(self) -> LocalBackend:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        for worker in self.workers:
            worker.is_closed = True
            self.tasks.put(None)
            if kind is not None:
                worker.interrupt()
        for worker in self.workers:
            worker.close()

    def submit(self, task: Task) -> None:
        """Puts a point at the end of the queue."""
        self.tasks.put(task)

    def next(self) -> Ending:
        """Waits in slices: some systems cannot interrupt an unlimited wait."""
        while True:
            try:
                return self.endings.get(timeout=1.0)
            except queue.Empty:
                continue

    def _serve(self, worker: _Worker) -> None:
        while (task := self.tasks.get()) is not None and not worker.is_closed:
            self.endings.put(Ending(task, worker.run(task)))


class _Worker:
    """A process that runs points, and is replaced when it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.is_closed = False

    def run(self, task: Task) -> str | None:
        """Why the point failed, or `None`."""
        try:
            process = self.process or self._start()
            assert process.stdin and process.stdout
            process.stdin.write(json.dumps(asdict(task)) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError as error:
            answer, reason = "", str(error)
        else:
            reason = ""
        if not answer:
            return self._bury() or reason
        told: dict[str, str | None] = json.loads(answer)
        return told["reason"]

    def interrupt(self) -> None:
        """Asks a run to stop."""
        process = self.process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)

    def close(self) -> None:
        """Ends the process."""
        process = self.process
        if process is None:
            return
        try:
            assert process.stdin
            process.stdin.close()
        except OSError:
            pass
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[str]:
        # The other process must find its modules the way this one does.
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        environment = {**os.environ, "RAYON_NUM_THREADS": "1", "PYTHONPATH": paths}
        command = [sys.executable, "-m", "sinew.sweep.worker"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True, encoding="utf-8")
        return self.process

    def _bury(self) -> str:
        """Discards a dead process and returns the cause."""
        process, self.process = self.process, None
        if process is None:
            return ""
        code = process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit status {code}"
        return f"the process that computed this point ended {how}"
