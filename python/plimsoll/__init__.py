"""The load line for Linux memory: what a setting does, predicted and explained.

`predict` runs a study on the model, in this process. `inspect`, `explain`, `lint` and `replay` ask
the command that came with this package. An error is a ValueError in the command's words.
"""

from ._command import Document, explain, inspect, lint, replay
from ._predict import Prediction, Study, predict, studies
from ._sweep import sweep

__all__ = [
    "Document",
    "Prediction",
    "Study",
    "explain",
    "inspect",
    "lint",
    "predict",
    "replay",
    "search",
    "studies",
    "sweep",
]


def __getattr__(name: str) -> object:
    # Optuna takes half a second to import, so it is imported by who asks for it.
    if name == "search":
        from ._search import search

        return search
    raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
