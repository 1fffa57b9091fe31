"""Which settings are best for a study, by Optuna, over a space from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import optuna
from optuna.distributions import BaseDistribution, IntDistribution

from . import _native
from ._predict import Prediction, Study, answered, asked, found

Range = tuple[int, int]
Point = dict[str, int]

# How far beyond the values of the study's own arms a search looks, either way.
BEYOND = 16
# A range with ends this far apart is searched by orders of magnitude.
WIDE = 100


class Found:
    """What a search came to."""

    def __init__(self, settings: Point, value: float, baseline: float) -> None:
        self.settings = settings
        """What matters of the best point: as good without the others, to the noise floor."""
        self.value = value
        """The measure there, the mean of the seeds."""
        self.baseline = baseline
        """The measure with none of these settings."""
        self.without_effect: list[str] = []
        """What of the best point could be left out."""
        self.trials: optuna.Study | None = None
        """Every trial, as Optuna has them."""
        self._ask: Any = None

    def predict(self, *, repetitions: int | None = None) -> Prediction:
        """The settings beside the study's first arm: every figure, and its verdict."""
        return answered(self._ask(settings=self.settings, repetitions=repetitions))

    def __repr__(self) -> str:
        return f"<Found {self.settings}: {self.value:g}, without {self.baseline:g}>"


def search(
    study: Study | str,
    space: Mapping[str, Range] | Sequence[str] | None = None,
    *,
    measure: str | None = None,
    direction: Literal["lower", "higher"] | None = None,
    trials: int = 1000,
    batch: int = 16,
    sampler: optuna.samplers.BaseSampler | None = None,
    seed: int = 1,
    seeds: int = 3,
    memory: str | None = None,
    cpus: int | None = None,
    disk: str | None = None,
    kernel: str | None = None,
) -> Found:
    """Searches the settings with which a measure of the study's first arm is best.

    `space` has the least and the most of each tunable, or only names; without it, it is what the
    study's arms set. Of a pair of partners one is searched. A name's range is the catalogue's,
    and no more than 16 times beyond the values of the study's arms; a tunable by which processes
    are killed has none. Trials are asked for and told in batches, and run on every CPU. What does
    not matter is then left out: the means of `seeds` runs decide.
    """
    here = found(study)
    name, sign = _measure(here, measure, direction)
    where: dict[str, Any] = {"memory": memory, "cpus": cpus, "disk": disk, "kernel": kernel}
    first = next(iter(here.arms))

    def ask(**more: Any) -> _native.Question:
        return asked(here, arms=[first], seed=seed, **where, **more)

    question = ask()
    question.check()

    def values(points: Sequence[Point], run: int) -> list[float | None]:
        texts = [[(name, str(value)) for name, value in it.items()] for it in points]
        return [value for value, _ in _native.measured(question, name, texts, run)]

    def mean(points: Sequence[Point]) -> list[float]:
        runs = [values(points, seed + number) for number in range(seeds)]
        return [_mean(of_point) for of_point in zip(*runs)]

    asking = optuna.create_study(
        direction="minimize" if sign > 0 else "maximize",
        sampler=sampler or optuna.samplers.TPESampler(seed=seed, constant_liar=True),
    )
    over: dict[str, BaseDistribution] = {
        tunable: IntDistribution(low, high, log=low > 0 and high // low >= WIDE)
        for tunable, (low, high) in _space(here, space).items()
    }
    for begin in range(0, trials, batch):
        asked_for = [asking.ask(over) for _ in range(min(batch, trials - begin))]
        for trial, value in zip(asked_for, values([it.params for it in asked_for], seed)):
            state = optuna.trial.TrialState.FAIL if value is None else None
            asking.tell(trial, value, state=state)
    came = _ablated(dict(asking.best_params), mean, sign)
    came.trials, came._ask = asking, ask
    return came


def _ablated(point: Point, mean: Any, sign: int) -> Found:
    """The point without what does not matter, one tunable at a time, the least first."""
    best, baseline = mean([point, {}])
    came = Found(point, best, baseline)
    while came.settings:
        names = list(came.settings)
        without = [{k: v for k, v in came.settings.items() if k != name} for name in names]
        losses = [sign * (value - best) for value in mean(without)]
        loss, name = min(zip(losses, names))
        if loss > _native.NOISE_FLOOR * abs(best):
            break
        came.settings = {k: v for k, v in came.settings.items() if k != name}
        came.without_effect.append(name)
    (came.value,) = mean([came.settings])
    return came


def _mean(values: Sequence[float | None]) -> float:
    there = [value for value in values if value is not None]
    if not there:
        raise ValueError("no run of a point has the measure")
    return sum(there) / len(there)


def _measure(study: Study, name: str | None, direction: str | None) -> tuple[str, int]:
    """The measure that is searched by, and 1 where less of it is better, else -1."""
    name = name or next(iter(study._native.headline), None)
    known = {measure: better for measure, _, better in study._native.measures}
    if name is None or name not in known:
        raise ValueError(f"measure: give one of {', '.join(known)}")
    better = direction or known[name]
    if better is None:
        raise ValueError(f"direction: say whether lower or higher {name} is better")
    return name, 1 if better == "lower" else -1


def _space(study: Study, space: Mapping[str, Range] | Sequence[str] | None) -> dict[str, Range]:
    """The range of each tunable that is searched."""
    known = {row[0]: row for row in _native.tunables()}
    if space is not None:
        _no_partners(list(space), known)
    if isinstance(space, Mapping):
        return {tunable: _given(tunable, ends) for tunable, ends in space.items()}
    tried: dict[str, list[int]] = {}
    for settings in study.arms.values():
        for tunable, value in settings.items():
            tried.setdefault(tunable, []).extend([int(value)] if value.isdigit() else [])
    ranges: dict[str, Range] = {}
    for tunable in tried if space is None else space:
        row = known.get(tunable)
        risky = row is None or row[4] == "high" or row[3] in ranges
        if space is None and risky:
            continue
        if row is None or row[4] == "high":
            raise ValueError(f"{tunable}: give its least and its most: it has no range of its own")
        ranges[tunable] = _range(row[1], row[3], tried.get(tunable, []))
    if not ranges:
        raise ValueError("space: give one: the study's arms set nothing that is searched")
    return ranges


def _no_partners(names: Sequence[str], known: Mapping[str, Any]) -> None:
    """Refuses a pair of which the kernel keeps the one that was written last."""
    for name in names:
        partner = known[name][3] if name in known else None
        if partner in names:
            raise ValueError(f"space: {name} and {partner} set the same; search one of them")


def _given(tunable: str, ends: Range) -> Range:
    low, high = ends
    if low > high:
        raise ValueError(f"{tunable}: its least, {low}, is above its most, {high}")
    return low, high


def _range(takes: Range, partner: str | None, tried: Sequence[int]) -> Range:
    low, high = takes
    # 0 says that the partner rules.
    low = max(low, 1) if partner else low
    numbers = [value for value in tried if value > 0]
    if numbers:
        low, high = max(low, min(numbers) // BEYOND), min(high, max(numbers) * BEYOND)
    return low, high
