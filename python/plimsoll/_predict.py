"""Studies, and what the model says of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _native

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Value = Union[str, int]
Columns = dict[str, list[Any]]


class Study:
    """A machine, a workload, arms (settings) and measures."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Study) -> None:
        self._native = native

    @classmethod
    def built_in(cls, name: str) -> Study:
        """The study of this name; `studies()` lists them."""
        if name not in _native.studies():
            raise ValueError(f"no study `{name}`: there is {', '.join(_native.studies())}")
        return cls(_native.Study.find(name))

    @classmethod
    def from_toml(cls, text: str) -> Study:
        """The study that this text is."""
        return cls(_native.Study.parse(text, "the study"))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """The study, or the recording, in a file."""
        text = os.fspath(path)
        return cls(_native.Study.find(text if "/" in text else f"./{text}"))

    def with_setting(self, tunable: str, value: Value, *, arm: str | None = None) -> Study:
        """The study with one more arm, `yours` or of that name, that sets this."""
        return self.with_settings({tunable: value}, arm=arm)

    def with_settings(self, settings: Mapping[str, Value], *, arm: str | None = None) -> Study:
        """The study with one more arm, `yours` or of that name, that sets all of these."""
        return Study(self._native.with_arm(arm, pairs(settings)))

    @property
    def name(self) -> str:
        """Lower-case letters, digits and hyphens."""
        return self._native.name

    @property
    def title(self) -> str:
        """Its title for people."""
        return self._native.title

    @property
    def question(self) -> str:
        """What it answers."""
        return self._native.question

    @property
    def text(self) -> str:
        """Its text, as its author wrote it."""
        return self._native.text

    @property
    def arms(self) -> dict[str, dict[str, str]]:
        """What is compared: each arm and what it sets. The first is what others are held against."""
        return {name: dict(settings) for name, settings in self._native.arms}

    @property
    def measures(self) -> list[str]:
        """What is read in the outcomes."""
        return [name for name, _, _ in self._native.measures]

    def __repr__(self) -> str:
        return f"<Study {self.name}: {len(self._native.arms)} arms, {len(self.measures)} measures>"


class Prediction:
    """What a study came to on the model."""

    __slots__ = ("_answer", "_data")

    def __init__(self, answer: _native.Answer) -> None:
        self._answer = answer
        self._data: dict[str, Any] | None = None

    @property
    def json(self) -> str:
        """What the command's `--json` prints, byte for byte."""
        return self._answer.json

    @property
    def html(self) -> str:
        """The page with charts: one file that needs nothing else."""
        return self._answer.html

    @property
    def data(self) -> dict[str, Any]:
        """The JSON as dicts and lists."""
        if self._data is None:
            self._data = json.loads(self.json)
        return self._data

    @property
    def notes(self) -> list[str]:
        """On which machine and kernel it was asked, and what is extrapolated."""
        notes: list[str] = self.data["notes"]
        return notes

    @property
    def problems(self) -> list[str]:
        """Runs without an outcome."""
        problems: list[str] = self.data["problems"]
        return problems

    @property
    def figures(self) -> Columns:
        """Every measure of every arm, as columns of one length."""
        head = ("measure", "arm", "unit")
        of_runs = ("median", "min", "max", "runs", "without")
        columns: Columns = {name: [] for name in (*head, *of_runs)}
        for line in self._lines("figures"):
            for name in head:
                columns[name].append(line[name])
            for name in of_runs:
                columns[name].append((line["predicted"] or {}).get(name))
        return columns

    @property
    def verdicts(self) -> Columns:
        """Each arm against the first, as columns of one length."""
        lines = self._lines("verdicts")
        names = lines[0] if lines else {}
        return {name: [line[name] for line in lines] for name in names}

    def to_pandas(self) -> pandas.DataFrame:
        """The figures as a frame of pandas."""
        import pandas

        return pandas.DataFrame(self.figures)

    def to_polars(self) -> polars.DataFrame:
        """The figures as a frame of polars."""
        import polars

        return polars.DataFrame(self.figures, infer_schema_length=None)

    def to_arrow(self) -> pyarrow.Table:
        """The figures as a table of Arrow."""
        import pyarrow

        return pyarrow.table(self.figures)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        return [line for kernel in self.data["kernels"] for line in kernel[name]]

    def _repr_html_(self) -> str:
        import html

        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="700" style="border:0"></iframe>'

    def __repr__(self) -> str:
        figures = len(self._lines("figures"))
        return f"<Prediction of {self.data['study']}: {figures} figures>"


def studies() -> list[str]:
    """The names of the built-in studies."""
    return _native.studies()


def pairs(settings: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Settings as the native half takes them."""
    return [(name, str(value)) for name, value in settings.items()]


def found(study: Study | str) -> Study:
    """The study itself, or the one of this name or path."""
    return study if isinstance(study, Study) else Study(_native.Study.find(study))


def asked(
    study: Study,
    *,
    memory: str | None,
    cpus: int | None,
    disk: str | None,
    kernel: str | None,
    settings: Mapping[str, Value] | None = None,
    arms: Sequence[str] | None = None,
    repetitions: int | None = None,
    seed: int = 1,
    scale: str | int = "auto",
) -> _native.Question:
    """The question, whose machine, kernel and arms are settled."""
    options: dict[str, object] = {
        "memory": memory,
        "cpus": cpus,
        "disk": disk,
        "kernel": kernel,
        "settings": pairs(settings or {}),
        "arms": list(arms or ()),
        "repetitions": repetitions,
        "seed": seed,
        "scale": str(scale),
    }
    return _native.Question(study._native, options)


def predict(
    study: Study | str,
    *,
    memory: str | None = None,
    cpus: int | None = None,
    disk: str | None = None,
    kernel: str | None = None,
    settings: Mapping[str, Value] | None = None,
    arms: Sequence[str] | None = None,
    repetitions: int | None = None,
    seed: int = 1,
    scale: str | int = "auto",
    store: str | os.PathLike[str] | None = None,
    even_so: bool = False,
) -> Prediction:
    """Runs a study on the model, on every CPU; the interpreter's lock is not held meanwhile.

    The options are those of the command's `predict`. Each arm has `repetitions` runs, or as many
    as the study says, and no more of them. With `store` the outcomes are kept in that folder, and
    only what it lacks is run. What would take more than 5 minutes is refused, but for `even_so`.
    """
    question = asked(
        found(study),
        memory=memory,
        cpus=cpus,
        disk=disk,
        kernel=kernel,
        settings=settings,
        arms=arms,
        repetitions=repetitions,
        seed=seed,
        scale=scale,
    )
    if not even_so:
        question.check()
    return answered(question, store)


def answered(
    question: _native.Question, store: str | os.PathLike[str] | None = None
) -> Prediction:
    """What a question came to."""
    return Prediction(question.answer(None if store is None else os.fspath(store)))
