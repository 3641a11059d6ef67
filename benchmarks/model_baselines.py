"""What benchmarks/model.py compares with: the network of planrank without deduplication in four forms, and wlplan.

The four compute the same values from the same weights, over every fact and action of every state, with index tensors
made once for a task. They know the default architecture only (mixing, residual, mean and max of messages, sum and max
of facts) and domains in which a literal of a precondition stands for one fact.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

from planrank.models.architecture import vertex_widths
from planrank.models.signature import signature_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from plain_network import PlainGraph, plain_forward


class Indices:
    """The hypergraph by predicate and kind of edge: `tails[k]` has (predicate, facts) for each place of kind k, `heads`
    (kind, head) → (predicate, facts); facts are numbered within their predicate, an entry for each edge."""

    def __init__(self, task, signature, shape):
        graph = PlainGraph(task, signature, shape)
        self.plain, self.signature, self.shape = graph, signature, shape
        self.fact_count = task.fact_count
        self.members = [facts.numpy() for facts in graph.vertices_of]
        self.goal = graph.goal
        local = np.empty(task.fact_count, np.int64)
        for facts in self.members:
            local[facts] = np.arange(len(facts))
        number = {name: p for p, name in enumerate(signature.predicates)}
        self.tails, self.features = [], []
        for k, (edges, columns, slots, features) in enumerate(graph.kinds):
            names = signature.edges[k].tails
            if len(edges) and (len(slots) != len(names) or (columns < 0).any()):
                raise SystemExit(f"{signature.edges[k].name}: a literal that stands for several facts or for none")
            columns = columns if len(edges) else np.empty((0, len(names)), np.int64)
            places = [torch.tensor(local[columns[:, list(slots).index(s)]]) for s in range(len(names))]
            self.tails.append([(number[name[1:]], place) for name, place in zip(names, places, strict=True)])
            self.features.append(features.float())
        self.heads = {}
        for p, name in enumerate(signature.predicates):
            relations = signature.relations(shape.deletes)[name]
            for (k, h), (edges, index) in zip(relations, graph.messages_of[p], strict=True):
                own = graph.kinds[k][0]
                if not torch.equal(edges, own):  # in another order than the edges' own: every edge has each head once
                    order = torch.argsort(edges)
                    edges, index = edges[order], index[order]
                    assert torch.equal(edges, own), "an edge without this head, or with two"
                self.heads[k, h] = (p, index)
        self.relations = [signature.relations(shape.deletes)[name] for name in signature.predicates]

    def bits(self, states: np.ndarray) -> np.ndarray:
        return np.unpackbits(states.view(np.uint8), axis=1, bitorder="little")[:, : self.fact_count]


class Reference:
    """tests/plain_network.py as it is."""

    def __init__(self, indices: Indices):
        self.graph = indices.plain

    def prepare(self, states: np.ndarray) -> np.ndarray:
        return states

    def values(self, weights, states: np.ndarray) -> torch.Tensor:
        return plain_forward(self.graph, weights, states)[0]


def dense(weights, name: str, rows: torch.Tensor) -> torch.Tensor:
    return torch.relu(rows @ weights[f"{name}.map"] + weights[f"{name}.bias"])


def head(weights, pooled: list[torch.Tensor]) -> torch.Tensor:
    hidden = dense(weights, "head.hidden", torch.cat(pooled, dim=1))
    return (hidden @ weights["head.value.map"] + weights["head.value.bias"])[:, 0]


class Plain:
    """The reference's steps on a table for each predicate and kind of edge, states in the second dimension: a scatter
    then moves whole blocks of all states, which suits PyTorch."""

    def __init__(self, indices: Indices):
        self.indices = indices
        self.counts = {}
        for key, (p, index) in indices.heads.items():
            counts = torch.bincount(index, minlength=len(indices.members[p])).clamp(min=1)
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

    def pooled(self, rows: torch.Tensor, index: torch.Tensor, size: int, counts) -> list[torch.Tensor]:
        empty = rows.new_zeros(size, *rows.shape[1:])
        spread = index[:, None, None].expand_as(rows)
        return [empty.index_add(0, index, rows) / counts, empty.scatter_reduce(0, spread, rows, "amax")]

    def values(self, weights, vertices: list[torch.Tensor]) -> torch.Tensor:
        indices = self.indices
        for layer in range(indices.shape.layers):
            messages = self.messages(weights, layer, vertices)
            after = []
            for p, rows in enumerate(vertices):
                parts = []
                for k, h in indices.relations[p]:
                    parts += self.pooled(messages[k], indices.heads[k, h][1], len(rows), self.counts[k, h])
                after.append(dense(weights, f"layer{layer}.vertex{p}", torch.cat([*parts, rows], dim=2)))
            vertices = after
        pooled = []
        for rows in vertices:
            empty = rows.new_zeros(rows.shape[1:])
            pooled += [rows.sum(dim=0), rows.amax(dim=0)] if len(rows) else [empty, empty]
        return head(weights, pooled)


class Wide(Plain):
    """One table for all facts with a place for every pair of schema and head, zeros where a fact cannot be reached."""

    def __init__(self, indices: Indices):
        super().__init__(indices)
        self.order = np.concatenate(indices.members)
        self.sizes = [len(facts) for facts in indices.members]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)])
        self.pairs = sorted(indices.heads)
        self.tails = [[facts + self.starts[p] for p, facts in tails] for tails in indices.tails]
        self.into, self.all_counts = {}, {}
        for key, (p, index) in indices.heads.items():
            self.into[key] = index + int(self.starts[p])
            counts = torch.bincount(self.into[key], minlength=len(self.order)).clamp(min=1)
            self.all_counts[key] = counts.float()[:, None, None]
        dim = indices.shape.dim
        self.widths = vertex_widths(indices.signature, indices.shape)
        self.rows_of = []
        for relations in indices.relations:
            places = [self.pairs.index(key) for key in relations]
            self.rows_of.append([row for i in places for row in range(2 * dim * i, 2 * dim * (i + 1))])

    def prepare(self, states: np.ndarray) -> torch.Tensor:
        return torch.cat(super().prepare(states))

    def wide_map(self, weights, layer: int, p: int) -> torch.Tensor:
        narrow = weights[f"layer{layer}.vertex{p}.map"]
        before = 2 * self.indices.shape.dim * len(self.pairs)
        rows = torch.tensor(self.rows_of[p] + list(range(before, before + self.widths[layer])))
        return narrow.new_zeros(before + self.widths[layer], narrow.shape[1]).index_copy(0, rows, narrow)

    def values(self, weights, vertices: torch.Tensor) -> torch.Tensor:
        indices = self.indices
        for layer in range(indices.shape.layers):
            messages = []
            for k, tails in enumerate(self.tails):
                parts = [vertices.index_select(0, facts) for facts in tails]
                parts.append(indices.features[k][:, None, :].expand(-1, vertices.shape[1], -1))
                messages.append(dense(weights, f"layer{layer}.edge{k}", torch.cat(parts, dim=2)))
            parts = []
            for key in self.pairs:
                parts += self.pooled(messages[key[0]], self.into[key], len(vertices), self.all_counts[key])
            rows = torch.cat([*parts, vertices], dim=2).split(self.sizes)
            mapped = []
            for p, own in enumerate(rows):
                bias = weights[f"layer{layer}.vertex{p}.bias"]
                mapped.append(torch.relu(own @ self.wide_map(weights, layer, p) + bias))
            vertices = torch.cat(mapped)
        pooled = []
        for rows in vertices.split(self.sizes):
            empty = rows.new_zeros(rows.shape[1:])
            pooled += [rows.sum(dim=0), rows.amax(dim=0)] if len(rows) else [empty, empty]
        return head(weights, pooled)


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
            for (k, h), (p, facts) in indices.heads.items():
                ends = (torch.arange(edges[k]), edges[k]), (facts, sizes[p])
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
        pooled = []
        for rows in vertices.values():
            by_state = rows.reshape(count, -1, rows.shape[1])
            empty = rows.new_zeros(count, rows.shape[1])
            pooled += [by_state.sum(dim=1), by_state.amax(dim=1)] if len(rows) else [empty, empty]
        return head(weights, pooled)


def side_by_side(source: tuple, target: tuple, count: int) -> torch.Tensor:
    """Edges between nodes of two types, each given as (node of each edge, number of nodes), for `count` states."""
    state = torch.arange(count).repeat_interleave(len(source[0]))
    return torch.stack([index.repeat(count) + size * state for index, size in (source, target)])


def baselines(indices: Indices) -> dict[str, object]:
    """By name; torch-geometric only where it is installed."""
    found = {"plain": Plain(indices), "wide": Wide(indices), "reference": Reference(indices)}
    try:
        return found | {"torch-geometric": Geometric(indices)}
    except ImportError:
        return found


class Wlplan:
    """Another Python that scores the states of one task with wlplan."""

    def __init__(self, python: str, folder: Path, domain: Path, problem: Path, task, states: np.ndarray):
        names = [name.strip("()").split() for name in task.names("facts")]
        asked = {"domain": str(domain), "problem": str(problem), "fluent": list(signature_of(task).predicates)}
        asked["states"] = [[names[fact] for fact in task.facts_in(state)] for state in states]
        file = folder / "wlplan.json"
        file.write_text(json.dumps(asked))
        command = [python, Path(__file__).with_name("model_wlplan.py"), file]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                raise SystemExit("wlplan did not start")

    def seconds(self) -> float:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
