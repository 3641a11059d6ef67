"""The network itself, written once over two kinds of arithmetic: NumPy for search, PyTorch for training."""

from __future__ import annotations

from typing import Any

from planrank.models.relational.architecture import RelationalArchitecture
from planrank.models.relational.signature import RelationalSignature


def forward(
    arithmetic: Any, weights: Any, signature: RelationalSignature, shape: RelationalArchitecture, seen: Any
) -> tuple[Any, Any]:
    """Values of the states, and the scores of their actions or None; `seen` is what the arithmetic made of `Seen`."""
    relu, side_by_side = arithmetic.relu, arithmetic.side_by_side
    total = seen.states * seen.objects
    vertices = arithmetic.repeated(seen.propositions, seen.objects)

    def mapped(name: str, objects: Any, flags: Any = None) -> Any:
        """A dense map of objects side by side and of flags. Where there are more rows than objects, each object is
        mapped once for every place it may have, and what comes of it is added up."""
        width, own = vertices.shape[1], [] if flags is None else [flags]
        if len(objects) <= total or not objects.shape[1]:
            rows = vertices[objects.reshape(-1)].reshape(len(objects), objects.shape[1] * width)
            return dense(weights, name, side_by_side([rows, *own]) if own else rows)
        parts = weights[f"{name}.map"]
        found = (flags @ parts[objects.shape[1] * width :] if own else 0) + weights[f"{name}.bias"]
        for place in range(objects.shape[1]):
            found = found + (vertices @ parts[place * width : (place + 1) * width])[objects[:, place]]
        return found

    for layer in range(shape.layers):

        def heard(senders: list[tuple[Any, ...]], links: Any, layer: int = layer) -> Any:
            messages = [
                relu(mapped(f"layer{layer}.{name}", *inputs)).reshape(-1, shape.dim) for name, *inputs in senders
            ]
            return arithmetic.pooled(messages, links, total, shape.dim)

        def heard_from_constants(layer: int = layer, vertices: Any = vertices) -> Any:
            constants, links = arithmetic.merged(seen.constants, seen.constant_links, vertices)
            return heard(constants, links, layer)

        atoms = [(one.name, one.objects, one.flags) for one in seen.atoms if one.objects.shape[1]]
        parts = [vertices, heard(atoms, seen.links)]
        if shape.statics and signature.statics:
            parts.append(arithmetic.remembered(layer, vertices, heard_from_constants))
        vertices = relu(dense(weights, f"layer{layer}.objects", side_by_side(parts)))
    values = 0.0
    for one in seen.atoms:
        rows = relu(mapped(f"value.{one.name}", one.objects, one.flags))
        values = values + arithmetic.sums((rows @ weights[f"value.{one.name}.worth"])[:, 0], one.states, seen.states)
    if seen.actions is None:
        return values, None
    context = relu(dense(weights, "actions.context", arithmetic.over_objects(vertices, seen.states, seen.objects)))
    context = context @ weights["actions.state.map"]
    scores = arithmetic.zeros(seen.action_count, values)
    for group in seen.actions:
        rows = relu(mapped(f"action.{group.name}", group.objects, group.flags) + context[group.states])
        scores[group.ids] = (rows @ weights["actions.score.map"])[:, 0]
    return values, scores


def dense(weights: Any, name: str, inputs: Any) -> Any:
    return inputs @ weights[f"{name}.map"] + weights[f"{name}.bias"]
