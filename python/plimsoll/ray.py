"""Sweeps on a Ray cluster: `plimsoll.sweep(..., executor=plimsoll.ray.Cluster())`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ray

from . import _native

# Tasks that wait for each CPU of the cluster.
AHEAD = 8


class Cluster:
    """The cluster that `ray.init` joined; a task whose node dies is run again on another."""

    def __init__(self, **options: Any) -> None:
        self._run: Any = ray.remote(max_retries=-1, num_cpus=1, **options)(_outcome)

    def outcomes(self, tasks: Iterable[tuple[bytes, str, str]]) -> Iterator[tuple[str, bytes | None]]:
        """The outcome of each task, in the order in which they end."""
        waiting: list[Any] = []
        for task in tasks:
            waiting.append(self._run.remote(*task))
            while len(waiting) >= AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))):
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)


def _outcome(task: bytes, kernel: str, scale: str) -> tuple[str, bytes | None]:
    return _native.outcome(task, kernel, scale)
