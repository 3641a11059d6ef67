# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From PDDL to a ranking
#
# A walk through planrank's Python API on one small problem: what a ground task looks like, what a heuristic says of its
# states, which pairs a ranking is made of, and what comes of it in a search. The same as a script and as a notebook lie
# in `examples/`; a test runs both.

# %%
import numpy as np

import planrank
from planrank import paths
from planrank.learning.ranking import ranking_of_plan
from planrank.task import Rows

folder = paths.shared() / "domains/blocksworld"
task = planrank.load(folder / "domain.pddl", folder / "example.pddl")
print(task)

# %% [markdown]
# ## States
#
# A task has facts and operators, numbered from 0. A state is a row of 64-bit words with a bit for each fact; here one
# word is enough. `facts_in` says which facts hold, `packed` makes a state of them.

# %%
facts, operators = task.names("facts"), task.names("operators")
start = task.packed(task.init)
print(start.shape, start.dtype)
print([facts[f] for f in task.facts_in(start)])
print("the goal:", [facts[f] for f in task.goal[0]])

# %% [markdown]
# Rows of facts say what each operator needs, adds and deletes.

# %%
number = next(i for i in range(task.operator_count) if set(task.pre[i]) <= set(task.facts_in(start)))
for what, rows in (("needs", task.pre), ("adds", task.add), ("deletes", task.delete)):
    print(operators[number], what, [facts[f] for f in rows[number]])

# %% [markdown]
# ## A plan
#
# `solve` parses, grounds, searches and replays the plan with an independent validator.

# %%
result = planrank.solve(folder / "domain.pddl", folder / "example.pddl", search="astar", heuristic="lmcut")
print(result.status, result.plan_cost, result.statistics.expanded)
print("\n".join(result.plan))

# %% [markdown]
# ## Values
#
# Heuristics and models are asked for the values of many states at once. A classical heuristic estimates the cost to the
# goal; a model that ranks has no such unit, only the order of its values means something.

# %%
ranking = ranking_of_plan(task, result.plan)
path = ranking.states[: ranking.length + 1]
others = ranking.states[ranking.length + 1 :]
print(len(path), "states on the plan,", len(others), "others generated on the way")
print("cost to the goal:", ranking.cost_to_goal)
print("hFF:            ", planrank.Heuristic(task, "ff").values(np.ascontiguousarray(path)))

# %% [markdown]
# The model that comes with planrank for this domain ranks actions: it values a state and scores every action that is
# applicable in it. The value of taking an action is the sum, and the lowest is taken first.

# %%
model = planrank.Model.load(folder / "model.json")
scorer = model.scorer(task)
print("the model ranks", model.rank)
actions = Rows(ranking.action_offsets, ranking.action)
values, scores = scorer.values_and_scores(np.ascontiguousarray(path[:-1]), actions)
for i in range(ranking.length):
    row = slice(actions.offsets[i], actions.offsets[i + 1])
    best = actions.values[row][np.argmin(scores[row])]
    chosen = actions.values[row][ranking.chosen[i]]
    print(f"step {i + 1}: the plan takes {operators[chosen]}, the model {operators[best]}")

# %% [markdown]
# ## Pairs
#
# A ranking loss looks at pairs: when the search takes the next state of the plan, every other state in the open list
# should have a higher f. How many pairs there are, and how many of them hFF has in the wrong order for greedy search:

# %%
h = planrank.Heuristic(task, "ff").values(ranking.states)
in_open_list = ranking.in_open_list(later_on_path=False)
wrong = in_open_list & (h[ranking.open_state][None, :] <= h[1 : ranking.length + 1][:, None])
print(int(in_open_list.sum()), "pairs,", int(wrong.sum()), "of them not in the right order")
assert in_open_list.any()

# %% [markdown]
# `certify` asks the same of the definition: is every pair right, so that the search takes the states of an optimal plan
# and no others, however ties are broken?

# %%
for name in ("ff", "lmcut"):
    certificate = planrank.certify(task, planrank.Heuristic(task, name), "gbfs")
    print(name, certificate.perfect, certificate.reason)
certificate = planrank.certify(task, scorer, "gbfs", rank=model.rank)
print("the model", certificate.perfect, certificate.reason)

# %% [markdown]
# ## A search of your own
#
# The loop of the search can be driven from Python: `expand` gives new states, `insert` takes their values. Anything
# that has values for states can guide it, here the number of goal facts that are missing.

# %%
goal = np.array(task.packed(task.goal[0]))


def missing(states: np.ndarray) -> np.ndarray:
    absent = ~states & goal
    return np.unpackbits(absent.view(np.uint8), axis=1).sum(axis=1).astype(np.float32)


search = planrank.Search(task, "gbfs")
while len(states := search.expand(k=1)):
    search.insert(missing(states))
print(search.status, "after", search.expanded, "expansions")
assert search.status == "solved"
print("\n".join(search.needed_plan()))
