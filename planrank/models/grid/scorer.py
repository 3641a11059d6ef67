"""A grid model at work in a search: NumPy alone, because importing PyTorch takes longer than most searches."""

from __future__ import annotations

import numpy as np

from planrank.limits import Limits
from planrank.models.family import NetworkScorer
from planrank.models.grid.images import Painter, kinds_of_operators
from planrank.models.grid.network import ActionGroup, Seen, features, read
from planrank.models.grid.numpy_arithmetic import NumpyArithmetic
from planrank.models.grid.view import View
from planrank.models.model import Model
from planrank.task import Rows, Task


class GridScorer(NetworkScorer):
    """A map is made when the scorer is; all other networks see every state anew."""

    def __init__(self, model: Model, task: Task, view: View, limits: Limits | None = None):
        super().__init__(model, task)
        self.arithmetic = NumpyArithmetic(limits)
        shape = model.architecture
        self.images = Painter(task, view, shape.network == "map").images()
        self.pixels = self.images.height * self.images.width
        self.reads_agents = shape.pooled == "cell"
        self.map: np.ndarray | None = None
        if shape.network == "map":
            fixed = self.images.constant.reshape(1, self.images.height, self.images.width, -1)
            links = self.images.links if model.signature.has_links else None
            with np.errstate(over="ignore", invalid="ignore"):  # said where values are asked for
                self.map = features(self.arithmetic, model.weights, shape, fixed, links)
        self.places = list(model.signature.places_of_actions.values())
        self.kinds = kinds_of_operators(task)

    def evaluated(self, states: np.ndarray, actions: Rows | None) -> tuple[np.ndarray, np.ndarray | None]:
        model, image = self.model, self.map
        images = self.images.dense(states) if image is None else None
        agents = self.images.agents(states) if self.reads_agents else None
        groups = None if actions is None else self._groups(actions)
        seen = Seen(images, self.pixels, len(states), agents, groups, 0 if actions is None else len(actions.values))
        if image is None:
            image = features(self.arithmetic, model.weights, model.architecture, images)
        return read(self.arithmetic, model.weights, model.architecture, image, seen)

    def _groups(self, actions: Rows) -> list[ActionGroup]:
        state = np.repeat(np.arange(len(actions)), np.diff(actions.offsets))
        kinds = self.kinds[actions.values]
        found = []
        for kind, places in enumerate(self.places):
            ids = np.flatnonzero(kinds == kind)
            if len(ids):
                cells = self.images.cells[actions.values[ids], :places]
                found.append(ActionGroup(kind, ids, state[ids], cells))
        return found
