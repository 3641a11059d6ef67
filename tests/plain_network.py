"""The network written plainly in PyTorch over every vertex and edge of every state: what deduplication must not change.

The reference of the tests; it is not fast. benchmarks/model_baselines.py builds faster forms from its index arrays.
"""

from __future__ import annotations

import numpy as np
import torch

from planrank import julia
from planrank.models.hypergraph.architecture import vertex_widths


class PlainGraph:
    """The hypergraph of a task as index tensors, without a state."""

    def __init__(self, task, signature, shape):
        arrays = [
            np.array(julia.view(a))
            for a in julia.call("hypergraph_arrays", task.handle, shape.receivers, shape.distances)
        ]
        (self.predicate, goal_flags, kind, features, tail_offsets, tails, _layout_kinds, slot_offsets, slots,
         head_offsets, heads, relations) = arrays  # fmt: skip
        self.task, self.signature, self.shape = task, signature, shape
        columns = [goal_flags >> 1 & 1, goal_flags >> 2 & 1]
        if shape.distances:
            columns += [goal_flags >= 8, np.maximum(goal_flags // 8 - 1, 0).astype(np.float32) / np.float32(10)]
        self.goal = torch.tensor(np.stack(columns, axis=1), dtype=torch.float64)
        self.kinds = []
        for k in range(len(signature.edges)):
            edges = np.flatnonzero(kind == k)
            own_slots = slots[slot_offsets[k] : slot_offsets[k + 1]]
            columns = np.stack([tails[tail_offsets[e] : tail_offsets[e + 1]] for e in edges]) if len(edges) else None
            self.kinds.append((torch.tensor(edges), columns, own_slots, torch.tensor(features.reshape(-1, 3)[edges])))
        edge_of_head = np.repeat(np.arange(len(kind)), np.diff(head_offsets))
        self.vertices_of, self.messages_of = [], []
        for p, name in enumerate(signature.predicates):
            members = np.flatnonzero(self.predicate == p)
            local = np.full(len(self.predicate), -1)
            local[members] = np.arange(len(members))
            self.vertices_of.append(torch.tensor(members))
            places = []
            for place in range(len(signature.relations(shape.receivers)[name])):
                chosen = (relations == place) & (self.predicate[heads] == p)
                places.append((torch.tensor(edge_of_head[chosen]), torch.tensor(local[heads[chosen]])))
            self.messages_of.append(places)
        self.edge_count = len(kind)
        # Edges of actions come first, in the order of the operators.
        self.kind_of_operator, self.features = kind[: task.operator_count], features.reshape(-1, 3)
        if shape.scores_actions:
            self.literals = Literals(task)


class Literals:
    """Which facts the literals of each operator stand for; those of an effect only where its condition holds."""

    def __init__(self, task):
        names = ("pre", "neg", "add", "del", "cond_pre", "cond_neg", "cond_add", "cond_del")
        self.rows = {name: task._rows(name) for name in names}
        self.slots = {name: task._column(f"{name}_slot") for name in names}
        self.effects = task._column("cond_offsets").tolist()

    def row(self, name: str, i: int) -> list[tuple[int, int]]:
        """(literal, fact) for each fact."""
        part = slice(*self.rows[name].offsets[i : i + 2])
        return list(zip(self.slots[name][part].tolist(), self.rows[name].values[part].tolist(), strict=True))

    def of(self, operator: int, edge, facts: set[int]):
        """(literal, fact) of an operator in a state; literals needed, needed false, added and deleted in this order."""
        negative, tails = sum(tail[0] == "+" for tail in edge.tails), len(edge.tails)
        firsts = {"pre": 0, "neg": negative, "add": tails, "del": tails + sum(head[0] == "+" for head in edge.heads)}
        for name, first in firsts.items():
            yield from ((first + slot, fact) for slot, fact in self.row(name, operator))
        for effect in range(self.effects[operator], self.effects[operator + 1]):
            needed, forbidden = ({fact for _, fact in self.row(name, effect)} for name in ("cond_pre", "cond_neg"))
            if needed <= facts and not forbidden & facts:
                for name in ("add", "del"):
                    yield from ((firsts[name] + slot, fact) for slot, fact in self.row(f"cond_{name}", effect))


def pool(rows, index, size: int, kinds):
    """Rows (states, n, d) reduced to (states, size, d · kinds) by `index`; zero where nothing arrives."""
    states, _, width = rows.shape
    total = rows.new_zeros(states, size, width).index_add(1, index, rows)
    count = torch.zeros(size, dtype=rows.dtype).index_add(0, index, torch.ones(len(index), dtype=rows.dtype))
    parts = []
    for kind in kinds:
        if kind == "max":
            spread = index[None, :, None].expand_as(rows)
            parts.append(rows.new_zeros(states, size, width).scatter_reduce(1, spread, rows, "amax"))
        else:
            parts.append(total / count.clamp(min=1)[:, None] if kind == "mean" else total)
    return torch.cat(parts, dim=2)


def plain_forward(graph: PlainGraph, weights, states: np.ndarray, actions=None):
    """Values of packed states, and the scores of their actions, rows of operators, where the network has any."""
    task, signature, shape = graph.task, graph.signature, graph.shape
    dtype = weights["head.value.bias"].dtype
    bits = np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")[:, : task.fact_count]
    true = torch.tensor(bits)[:, :, None]
    vertices = torch.cat([true, graph.goal.expand(len(states), -1, -1)], dim=2).to(dtype)
    widths = vertex_widths(signature, shape)
    for layer in range(shape.layers):
        own = f"layer{min(layer, 1) if shape.shared else layer}"
        messages = vertices.new_zeros(len(states), graph.edge_count, shape.dim)
        padded = torch.cat([vertices, vertices.new_zeros(len(states), 1, vertices.shape[2])], dim=1)
        for k, (edges, columns, slots, features) in enumerate(graph.kinds):
            if not len(edges):
                continue
            places = []
            for slot in range(signature.senders(k, shape.receivers)):
                facts = torch.tensor(columns[:, slots == slot])  # -1, no fact, is the row of zeros behind the last
                places.append(padded[:, facts].sum(dim=2))
            places.append(features.to(dtype).expand(len(states), -1, -1))
            inputs = torch.cat(places, dim=2)
            rows = torch.relu(inputs @ weights[f"{own}.edge{k}.map"] + weights[f"{own}.edge{k}.bias"])
            messages = messages.index_copy(1, edges, rows)
        after = vertices.new_zeros(len(states), task.fact_count, widths[layer + 1])
        for p, members in enumerate(graph.vertices_of):
            if not len(members):
                continue
            parts = [
                pool(messages[:, edges], index, len(members), shape.messages) for edges, index in graph.messages_of[p]
            ]
            if shape.residual:
                parts.append(vertices[:, members])
            rows = torch.cat(parts, dim=2) if parts else vertices.new_zeros(len(states), len(members), 0)
            if shape.mixing:
                name = f"{own}.vertex{p}"
                rows = torch.relu(rows @ weights[f"{name}.map"] + weights[f"{name}.bias"])
                if shape.shared and layer > 0:
                    rows = (rows + vertices[:, members]) / 2**0.5
            rows = torch.nn.functional.pad(rows, (0, widths[layer + 1] - rows.shape[2]))
            after = after.index_copy(1, members, rows)
        vertices = after

    def pooled(kinds, vertices=vertices):
        found = []
        for members in graph.vertices_of:
            index = torch.zeros(len(members), dtype=torch.int64)
            found.append(pool(vertices[:, members], index, 1, kinds)[:, 0])
        return torch.cat(found, dim=1)

    def seen(name, kinds):
        return torch.relu(pooled(kinds) @ weights[f"{name}.map"] + weights[f"{name}.bias"])

    if shape.value == "sum":
        read = pooled(("sum",))
    elif shape.value == "held":
        counts = torch.cat([true, graph.goal[..., :2].expand(len(states), -1, -1)], dim=2).any(dim=2, keepdim=True)
        read = pooled(("sum",), vertices * counts)
    else:
        read = seen("head.hidden", shape.pooling)
    values = (read @ weights["head.value.map"] + weights["head.value.bias"])[:, 0]
    if not shape.scores_actions:
        return values, None
    return values, plain_scores(graph, weights, vertices, seen("actions.context", shape.context), states, actions)


def plain_scores(graph: PlainGraph, weights, vertices, hidden, states: np.ndarray, actions):
    """Each action by itself: the facts of its literals after the last layer, its features, the pooled state."""
    signature, width = graph.signature, vertices.shape[2]
    rows = []
    for i, state in enumerate(states):
        facts = set(graph.task.facts_in(state).tolist())
        for operator in actions[i].tolist():
            kind = int(graph.kind_of_operator[operator])
            edge = signature.edges[kind]
            found = list(graph.literals.of(operator, edge, facts))
            index, fact = (torch.tensor([pair[k] for pair in found], dtype=torch.int64) for k in (0, 1))
            summed = vertices.new_zeros(len(edge.tails) + len(edge.heads), width).index_add(0, index, vertices[i, fact])
            inputs = torch.cat([summed.flatten(), torch.tensor(graph.features[operator], dtype=vertices.dtype)])
            row = inputs @ weights[f"action{kind}.map"] + weights[f"action{kind}.bias"]
            rows.append(torch.relu(row + hidden[i] @ weights["actions.state.map"]) @ weights["actions.score.map"])
    return torch.cat(rows) if rows else vertices.new_zeros(0)
