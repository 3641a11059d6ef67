"""What benchmarks/model.py compares with: planrank's network without deduplication, plainly and by torch-geometric.

Both compute the same values from the same weights, over every fact and action of every state, with index tensors made
once for a task, outside of what is timed. They know the default architecture only, but for the number and size of its
layers, and domains in which a literal of a precondition stands for one fact.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec

import numpy as np
import torch
from plain_network import PlainGraph

from planrank.models.hypergraph.architecture import vertex_widths


class Indices:
    """The hypergraph by predicate and kind of edge.

    `tails[k]` has (predicate, facts) for each place of kind k, an entry for each edge; `heads` says of (kind, head) to
    which predicate it leads, from which edges of the kind (None: from all, in order) and to which facts. Facts are
    numbered within their predicate, edges within their kind.
    """

    def __init__(self, task, signature, shape):
        graph = PlainGraph(task, signature, shape)
        self.signature, self.shape, self.fact_count = signature, shape, task.fact_count
        self.members = [facts.numpy() for facts in graph.vertices_of]
        self.goal = graph.goal
        local = places_in(self.members, task.fact_count)
        self.tails, self.features = [], []
        for (edges, columns, slots, features), kind in zip(graph.kinds, signature.edges, strict=True):
            if len(edges) and (len(slots) != len(kind.tails) or (columns < 0).any()):
                raise SystemExit(f"{kind.name}: a literal that stands for several facts or for none")
            columns = columns if len(edges) else np.empty((0, len(kind.tails)), np.int64)
            places = [torch.tensor(local[columns[:, list(slots).index(s)]]) for s in range(len(kind.tails))]
            predicates = [signature.predicates.index(name[1:]) for name in kind.tails]
            self.tails.append(list(zip(predicates, places, strict=True)))
            self.features.append(features.float())
        own_edges = places_in([edges.numpy() for edges, *_ in graph.kinds], graph.edge_count)
        self.relations = [signature.relations(shape.receivers)[name] for name in signature.predicates]
        self.heads = {}
        for p, relations in enumerate(self.relations):
            for key, (edges, facts) in zip(relations, graph.messages_of[p], strict=True):
                order = torch.argsort(edges)
                senders = torch.tensor(own_edges[edges[order].numpy()])
                complete = torch.equal(senders, torch.arange(len(self.features[key[0]])))
                self.heads[key] = (p, None if complete else senders, facts[order])

    def bits(self, states: np.ndarray) -> np.ndarray:
        return np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")[:, : self.fact_count]


def places_in(groups: list[np.ndarray], count: int) -> np.ndarray:
    """Where each of `count` things stands in its group."""
    found = np.zeros(count, np.int64)
    for group in groups:
        found[group] = np.arange(len(group))
    return found


def dense(weights, name: str, rows: torch.Tensor) -> torch.Tensor:
    return torch.relu(rows @ weights[f"{name}.map"] + weights[f"{name}.bias"])


def head(weights, parts: list[torch.Tensor]) -> torch.Tensor:
    hidden = dense(weights, "head.hidden", torch.cat(parts, dim=1))
    return (hidden @ weights["head.value.map"] + weights["head.value.bias"])[:, 0]


def pooled(rows: torch.Tensor, dim: int) -> list[torch.Tensor]:
    """Sum and maximum over the facts."""
    if rows.shape[dim]:
        return [rows.sum(dim=dim), rows.amax(dim=dim)]
    return 2 * [rows.sum(dim=dim)]


class Plain:
    """A table for each predicate and kind of edge, states in the second dimension: a scatter then moves whole blocks of
    all states, which suits PyTorch."""

    def __init__(self, indices: Indices):
        self.indices = indices
        self.counts = {}
        for key, (p, _, facts) in indices.heads.items():
            counts = torch.bincount(facts, minlength=len(indices.members[p])).clamp(min=1)
            self.counts[key] = counts.float()[:, None, None]

    def prepare(self, states: np.ndarray) -> list[torch.Tensor]:
        """Flags (facts, states, 3) for each predicate."""
        indices = self.indices
        bits = torch.from_numpy(np.ascontiguousarray(indices.bits(states).T)).float()[:, :, None]
        flags = torch.cat([bits, indices.goal[:, None, :].expand(-1, len(states), -1).float()], dim=2)
        return [flags[facts] for facts in indices.members]

    def messages(self, weights, layer: int, vertices: list[torch.Tensor]) -> list[torch.Tensor]:
        indices, found = self.indices, []
        for k, tails in enumerate(indices.tails):
            parts = [vertices[p].index_select(0, facts) for p, facts in tails]
            parts.append(indices.features[k][:, None, :].expand(-1, vertices[0].shape[1], -1))
            found.append(dense(weights, f"layer{layer}.edge{k}", torch.cat(parts, dim=2)))
        return found

    def arriving(self, messages: torch.Tensor, key: tuple[int, int], size: int) -> list[torch.Tensor]:
        """Mean and maximum of the messages that arrive at each fact."""
        _, senders, facts = self.indices.heads[key]
        rows = messages if senders is None else messages.index_select(0, senders)
        empty = rows.new_zeros(size, *rows.shape[1:])
        spread = facts[:, None, None].expand_as(rows)
        return [empty.index_add(0, facts, rows) / self.counts[key], empty.scatter_reduce(0, spread, rows, "amax")]

    def values(self, weights, vertices: list[torch.Tensor]) -> torch.Tensor:
        for layer in range(self.indices.shape.layers):
            messages = self.messages(weights, layer, vertices)
            after = []
            for p, rows in enumerate(vertices):
                parts = [rows]
                for k, h in reversed(self.indices.relations[p]):
                    parts = self.arriving(messages[k], (k, h), len(rows)) + parts
                after.append(dense(weights, f"layer{layer}.vertex{p}", torch.cat(parts, dim=2)))
            vertices = after
        return head(weights, [part for rows in vertices for part in pooled(rows, 0)])


class Geometric:
    """torch-geometric: predicates and kinds of edges as types of nodes, each place of a tail or head as a relation with
    a SAGEConv, which together are the same maps; states side by side in one large graph."""

    def __init__(self, indices: Indices):
        from torch_geometric.nn import HeteroConv, SAGEConv

        warnings.filterwarnings("ignore", message="There exist node types")  # tails and heads are modules of their own
        self.indices = indices
        self.made: dict[int, dict] = {}
        dim, widths = indices.shape.dim, vertex_widths(indices.signature, indices.shape)
        self.layers = []
        for layer in range(indices.shape.layers):
            up, down = {}, {}
            for k, tails in enumerate(indices.tails):
                for s, (p, _) in enumerate(tails):
                    channels = (widths[layer], 3)
                    up[f"p{p}", f"t{s}", f"e{k}"] = SAGEConv(channels, dim, aggr="sum", root_weight=s == 0, bias=s == 0)
            for p, relations in enumerate(indices.relations):
                for r, (k, h) in enumerate(relations):
                    options = {"aggr": ["mean", "max"], "root_weight": r == 0, "bias": r == 0}
                    down[f"e{k}", f"h{h}", f"p{p}"] = SAGEConv((dim, widths[layer]), dim, **options)
            for conv in [*up.values(), *down.values()]:  # weights are set anew from the flat vector at each step
                for linear in (conv.lin_l, conv.lin_r) if conv.root_weight else (conv.lin_l,):
                    linear._parameters.clear()
            self.layers.append((up, HeteroConv(up, "sum"), down, HeteroConv(down, "sum"), widths[layer]))

    def bind(self, weights) -> None:
        dim = self.indices.shape.dim
        for layer, (up, _, down, _, width) in enumerate(self.layers):
            for (_, tail, edge), conv in up.items():
                self.set(conv, weights, f"layer{layer}.edge{edge[1:]}", int(tail[1:]) * width, width, 3)
            for p, relations in enumerate(self.indices.relations):
                for r, (k, h) in enumerate(relations):
                    conv = down[f"e{k}", f"h{h}", f"p{p}"]
                    self.set(conv, weights, f"layer{layer}.vertex{p}", r * 2 * dim, 2 * dim, width)

    def set(self, conv, weights, name: str, start: int, count: int, root: int) -> None:
        table = weights[f"{name}.map"]
        conv.lin_l.weight = table[start : start + count].t()
        conv.lin_l.bias = weights[f"{name}.bias"] if conv.root_weight else None
        if conv.root_weight:
            conv.lin_r.weight, conv.lin_r.bias = table[-root:].t(), None

    def relations(self, count: int) -> tuple[dict, dict, dict]:
        """Edge indices of `count` states side by side, and the features of their edges; made once for each count."""
        if count not in self.made:
            indices = self.indices
            sizes = [len(facts) for facts in indices.members]
            edges = [len(rows) for rows in indices.features]
            up, down = {}, {}
            for k, tails in enumerate(indices.tails):
                for s, (p, facts) in enumerate(tails):
                    ends = (facts, sizes[p]), (torch.arange(edges[k]), edges[k])
                    up[f"p{p}", f"t{s}", f"e{k}"] = side_by_side(*ends, count)
            for (k, h), (p, senders, facts) in indices.heads.items():
                ends = (torch.arange(edges[k]) if senders is None else senders, edges[k]), (facts, sizes[p])
                down[f"e{k}", f"h{h}", f"p{p}"] = side_by_side(*ends, count)
            features = {f"e{k}": rows.repeat(count, 1) for k, rows in enumerate(indices.features)}
            self.made[count] = (up, down, features)
        return self.made[count]

    def prepare(self, states: np.ndarray) -> tuple[int, dict[str, torch.Tensor]]:
        bits = torch.tensor(self.indices.bits(states)).float()[:, :, None]
        flags = torch.cat([bits, self.indices.goal.float().expand(len(states), -1, -1)], dim=2)
        self.relations(len(states))
        return len(states), {f"p{p}": flags[:, facts].flatten(0, 1) for p, facts in enumerate(self.indices.members)}

    def values(self, weights, prepared) -> torch.Tensor:
        count, vertices = prepared
        up_index, down_index, features = self.relations(count)
        self.bind(weights)
        for layer, (_, up, _, down, _) in enumerate(self.layers):
            messages = {name: torch.relu(rows) for name, rows in up({**vertices, **features}, up_index).items()}
            arrived = down({**messages, **vertices}, down_index)
            after = {}
            for p, (name, rows) in enumerate(vertices.items()):
                own = f"layer{layer}.vertex{p}"
                after[name] = torch.relu(arrived[name]) if name in arrived else dense(weights, own, rows)
            vertices = after
        by_state = [rows.reshape(count, -1, rows.shape[1]) for rows in vertices.values()]
        return head(weights, [part for rows in by_state for part in pooled(rows, 1)])


def side_by_side(source: tuple, target: tuple, count: int) -> torch.Tensor:
    """Edges between nodes of two types, each given as (node of each edge, number of nodes), for `count` states."""
    state = torch.arange(count).repeat_interleave(len(source[0]))
    return torch.stack([index.repeat(count) + size * state for index, size in (source, target)])


def baselines(indices: Indices) -> dict[str, Plain | Geometric]:
    """By name; torch-geometric only where it is installed."""
    found: dict[str, Plain | Geometric] = {"plain": Plain(indices)}
    return found | {"torch-geometric": Geometric(indices)} if find_spec("torch_geometric") else found
