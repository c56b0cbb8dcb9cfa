"""Points as Ray tasks."""

from __future__ import annotations

import logging
import os
from collections import deque
from types import TracebackType
from typing import Any

import ray
import ray.exceptions

from .drive import Ending
from .plan import Task
from .point import run_point

MOST_AT_ONCE = 2_000
"""Limit on submitted tasks: waiting for one of many gets slower with their number; the others queue here."""


class RayBackend:
    """The running Ray instance, the cluster at an address, or a temporary one on this machine."""

    def __init__(self, workers: int, address: str | None, retries: int) -> None:
        self.workers = workers
        self.address = address
        self.is_ours = not ray.is_initialized()
        self.waiting: deque[Task] = deque()
        self.running: dict[Any, Task] = {}
        # Ray itself restarts a task when its worker dies.
        self.remote = ray.remote(num_cpus=1, max_retries=retries)(run_point)

    def __enter__(self) -> RayBackend:
        if self.is_ours:
            address = self.address or os.environ.get("RAY_ADDRESS")
            here: dict[str, Any] = {} if address else {"num_cpus": self.workers, "include_dashboard": False}
            ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        for reference in self.running:
            ray.cancel(reference)
        if self.is_ours:
            ray.shutdown()

    def submit(self, task: Task) -> None:
        """Submits a point as a task."""
        if len(self.running) < MOST_AT_ONCE:
            self.running[self.remote.remote(task)] = task
        else:
            self.waiting.append(task)

    def next(self) -> Ending:
        """Waits for any task."""
        [reference], _ = ray.wait(list(self.running), num_returns=1)
        task = self.running.pop(reference)
        if self.waiting:
            self.submit(self.waiting.popleft())
        try:
            return Ending(task, ray.get(reference))
        except ray.exceptions.RayError as error:
            # The point is not at fault, and Ray has used up its retries.
            return Ending(task, f"Ray: {error}", is_final=True)
