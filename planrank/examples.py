"""Training examples: a plan as a ranking problem, and its states as a deduplicated network input, kept on disk."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from planrank import __version__, paths
from planrank.models.architecture import Architecture
from planrank.models.batch import Batch, Classifier, Layouts, read_batch
from planrank.plans import write_bytes_atomically
from planrank.ranking import Ranking, ranking_of_plan
from planrank.task import Task, load


@dataclass(eq=False)
class Example:
    """`flat` is the network input of `ranking.states`, or only of the plan's own states, as Julia wrote it."""

    ranking: Ranking
    flat: tuple[np.ndarray, np.ndarray]
    layouts: Layouts
    layers: int
    _prepared: dict = field(default_factory=dict, repr=False)

    @cached_property
    def batch(self) -> Batch:
        return read_batch(*self.flat, self.layouts, self.layers)

    def prepared(self, shape: Architecture, dtype) -> Batch:
        """For PyTorch; made at the first use and kept."""
        key = (shape, dtype)
        if key not in self._prepared:
            from planrank.models.trainable import prepare

            self._prepared[key] = prepare(self.batch, shape, dtype)
        return self._prepared[key]


def build_example(task: Task, steps: list[str], shape: Architecture, path_only: bool = False) -> Example:
    """`path_only` leaves out the states off the plan, which not all losses look at."""
    ranking = ranking_of_plan(task, steps)
    classifier = Classifier(task, shape)
    classifier.add(task, ranking.states[: ranking.length + 1] if path_only else ranking.states)
    flat = tuple(np.array(part) for part in classifier.take_flat())
    return Example(ranking, flat, classifier.layouts, shape.layers)


def cached_example(
    domain: Path,
    problem: Path,
    steps: list[str],
    shape: Architecture,
    path_only: bool = False,
    folder: Path | None = None,
) -> Example:
    """The example of a plan; built once and kept in `folder` (by default in planrank's cache)."""
    folder = folder or paths.cache() / "examples"
    texts = [Path(domain).read_text(), Path(problem).read_text(), "\n".join(steps)]
    options = [shape.layers, shape.residual, shape.receivers, shape.policy, path_only, __version__]
    key = hashlib.sha256("\0".join([*texts, json.dumps(options)]).encode()).hexdigest()[:24]
    file = folder / f"{key}.npz"
    if file.exists():
        try:
            return read_example(file, shape.layers)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            file.unlink(missing_ok=True)  # damaged: made again
    example = build_example(load(domain, problem), steps, shape, path_only)
    folder.mkdir(parents=True, exist_ok=True)
    write_example(file, example)
    return example


def write_example(file: Path, example: Example) -> None:
    content = {f"ranking.{f.name}": np.asarray(getattr(example.ranking, f.name)) for f in fields(Ranking)}
    content |= {"numbers": example.flat[0], "features": example.flat[1]}
    content |= {f"layouts.{i}": array for i, array in enumerate(example.layouts.arrays)}
    buffer = io.BytesIO()
    # As numpy.savez_compressed, but with the fast level: the usual one takes longer than making the example.
    with ZipFile(buffer, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in content.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    write_bytes_atomically(file, buffer.getvalue())


def read_example(file: Path, layers: int) -> Example:
    with np.load(file, allow_pickle=False) as content:
        columns = {f.name: content[f"ranking.{f.name}"] for f in fields(Ranking)}
        columns["length"] = int(columns["length"])
        layouts = Layouts(*(content[f"layouts.{i}"] for i in range(3)))
        return Example(Ranking(**columns), (content["numbers"], content["features"]), layouts, layers)
