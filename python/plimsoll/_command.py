"""The command that lies in the same wheel, and what it says of machines and traces."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


class Document:
    """What the command printed: `json` as it is, `data` as Python has it."""

    __slots__ = ("json",)

    def __init__(self, text: str) -> None:
        self.json = text

    @property
    def data(self) -> dict[str, Any]:
        """The document as dicts and lists."""
        data: dict[str, Any] = json.loads(self.json)
        return data

    def __repr__(self) -> str:
        return f"Document({self.json[:60]!r}...)"


def command() -> str:
    """Where the command lies: beside this interpreter's scripts, or beside the package."""
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
        os.path.join(beside, "bin"),
        os.path.join(sys.prefix, "bin"),
    ]
    for folder in folders:
        path = os.path.join(folder, "plimsoll")
        if os.access(path, os.X_OK):
            return path
    raise ValueError(f"no command plimsoll in {', '.join(folders)}; install the package's wheel")


def run(arguments: Sequence[str]) -> Document:
    """Runs the command; 1 is an answer too, where it is asked for findings."""
    import subprocess

    done = subprocess.run(
        [command(), *arguments], capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode not in (0, 1):
        told = done.stderr.decode(errors="replace").strip()
        raise ValueError(told.removeprefix("plimsoll: "))
    return Document(done.stdout.decode())


def _paths(paths: Path | Sequence[Path]) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        return [_path(paths)]
    return [_path(path) for path in paths]


def _path(path: Path) -> str:
    # What begins as an option does would be taken for one.
    text = os.fspath(path)
    return f"./{text}" if text.startswith("-") else text


def _options(options: Mapping[str, object]) -> list[str]:
    given = {name: value for name, value in options.items() if value is not None}
    return [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]


def inspect(
    evidence: Path | Sequence[Path] = (),
    *,
    at: str | None = None,
    kernel: str | None = None,
    page_size: int | None = None,
    cpus: int | None = None,
    interval: float | None = None,
) -> Document:
    """What is wrong with a machine's memory: this one's, or that of the evidence.

    `interval` is the time in seconds over which rates of this machine are taken.
    """
    facts = {"at": at, "kernel": kernel, "page_size": page_size, "cpus": cpus}
    every = None if interval is None else f"{round(interval * 1000)}ms"
    options = _options({**facts, "interval": every})
    return run(["inspect", "--json", *options, *_paths(evidence)])


def explain(tunable: str | None = None, *, of: Path | Sequence[Path] = ()) -> Document:
    """What a tunable, or a value proposed for it (`KEY=VALUE`), means here or `of` evidence."""
    options = [f"--of={path}" for path in _paths(of)]
    return run(["explain", "--json", *options, *([] if tunable is None else ["--", tunable])])


def lint(
    what: Path | Sequence[Path] = (),
    *,
    of: Path | None = None,
    at: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Document:
    """Which settings do harm or nothing: this machine's, or those in files, folders, evidence."""
    rules = {"select": ",".join(select) or None, "ignore": ",".join(ignore) or None}
    options = _options({"of": None if of is None else os.fspath(of), "at": at, **rules})
    return run(["lint", "--json", *options, *_paths(what)])


def replay(
    trace: Path,
    *,
    memory: str | Sequence[str],
    lru: str | None = None,
    page_size: str | None = None,
    format: str | None = None,
    object: str | None = None,
) -> Document:
    """How often a trace of accesses misses in the kernel's lists, at each memory size."""
    sizes = memory if isinstance(memory, str) else ",".join(memory)
    given = {"memory": sizes, "lru": lru, "page_size": page_size}
    options = _options({**given, "format": format, "object": object})
    return run(["replay", "--json", *options, _path(trace)])
