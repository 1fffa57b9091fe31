"""A study at every point of a space of settings, on this machine or on many."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._predict import Prediction, Study, Value, answered, asked, found

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# Tasks that wait in an executor, so that a million of them are not all in memory.
AHEAD = 256

# An outcome's name, and what is kept of it: nothing of a run that the model could not make.
Outcome = tuple[str, "bytes | None"]


class Mapper(Protocol):
    """What runs tasks: `plimsoll.ray.Cluster`, or an executor in `Futures`."""

    def outcomes(self, tasks: Iterable[tuple[bytes, str, str]]) -> Iterator[Outcome]:
        """The outcome of each task, in any order."""


class Futures:
    """Tasks on an executor of concurrent.futures, at most `AHEAD` of them at a time."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def outcomes(self, tasks: Iterable[tuple[bytes, str, str]]) -> Iterator[Outcome]:
        """The outcome of each task, in the order in which they end.

        What ended before a worker died is handed out before that is raised.
        """
        from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, wait

        waiting: set[Future[Outcome]] = set()
        try:
            for task in tasks:
                waiting.add(self.executor.submit(_native.outcome, *task))
                if len(waiting) == AHEAD:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from _results(done)
            done, waiting = wait(waiting, return_when=ALL_COMPLETED)
            yield from _results(done)
        finally:
            for future in waiting:
                future.cancel()


def _results(done: Iterable[Future[Outcome]]) -> Iterator[Outcome]:
    """What futures came to, those that failed last."""
    for future in sorted(done, key=lambda it: it.exception() is not None):
        yield future.result()


def sweep(
    study: Study | str,
    space: Mapping[str, Sequence[Value]],
    seeds: int | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | Mapper | None = None,
    seed: int = 1,
    memory: str | None = None,
    cpus: int | None = None,
    disk: str | None = None,
    kernel: str | None = None,
    scale: str | int = "auto",
) -> Prediction:
    """Predicts a study at every point of `space`, each against the study's first arm.

    `space` has the values of each tunable; each point has `seeds` runs. Outcomes are kept in
    `store`, as the command's `sweep --store` keeps them: what is there is not run again, and
    stores that are copied into one folder are one. `executor` runs them elsewhere: any
    concurrent.futures.Executor, or `plimsoll.ray.Cluster()`; without one, every CPU here does.
    """
    axes = [(name, [str(value) for value in values]) for name, values in space.items()]
    swept, arms = _native.Space(axes).arms_of(found(study)._native)
    where: dict[str, Any] = {"memory": memory, "cpus": cpus, "disk": disk, "kernel": kernel}
    runs: dict[str, Any] = {"arms": arms, "repetitions": seeds, "seed": seed, "scale": scale}
    question = asked(Study(swept), **where, **runs)
    question.check()
    if executor is None:
        return answered(question, store)
    if store is not None:
        return _elsewhere(question, os.fspath(store), executor, str(scale))
    with tempfile.TemporaryDirectory(prefix="plimsoll-") as folder:
        return _elsewhere(question, folder, executor, str(scale))


def _elsewhere(
    question: _native.Question, store: str, executor: Executor | Mapper, scale: str
) -> Prediction:
    """Has what the store lacks run by the executor, and answers from the store."""
    mapper = executor if hasattr(executor, "outcomes") else Futures(executor)
    lacking = dict(question.lacking(store))
    tasks = ((task, question.kernel, scale) for task in lacking.values())
    for key, outcome in mapper.outcomes(tasks):
        if key not in lacking:
            raise ValueError("a worker has another version of plimsoll than this machine")
        if outcome is not None:
            _native.keep(store, key, outcome)
    return answered(question, store)
