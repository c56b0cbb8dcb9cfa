"""Points as Dask futures."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from distributed import Client, LocalCluster, as_completed

from .drive import Ending
from .plan import Task
from .point import run_point


class DaskBackend:
    """A given client, the cluster at an address, or a temporary one on this machine."""

    def __init__(self, workers: int, address: str | None, client: Any) -> None:
        self.workers = workers
        self.address = address
        self.client = client
        self.cluster: LocalCluster | None = None
        self.is_ours = client is None
        self.tasks: dict[Any, Task] = {}

    def __enter__(self) -> DaskBackend:
        if self.is_ours and self.address is None:
            self.cluster = LocalCluster(
                n_workers=self.workers, threads_per_worker=1, processes=True, dashboard_address=None
            )
        if self.is_ours:
            self.client = Client(self.cluster or self.address)
        self.ended = as_completed(loop=self.client.loop)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if self.tasks:
            self.client.cancel(list(self.tasks))
        if self.is_ours:
            self.client.close()
        if self.cluster is not None:
            self.cluster.close()

    def submit(self, task: Task) -> None:
        """Submits a point as a future; not a pure one, or Dask would answer a retry from its cache."""
        future = self.client.submit(run_point, task, pure=False)
        self.tasks[future] = task
        self.ended.add(future)

    def next(self) -> Ending:
        """Waits for any future. Dask itself moves the points of a dead worker to others."""
        future = next(self.ended)
        task = self.tasks.pop(future)
        error = future.exception()
        if error is None:
            return Ending(task, future.result())
        return Ending(task, f"Dask: {error}", is_final=True)
