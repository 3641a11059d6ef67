"""The loop of `planrank improve`: search, learn, see whether it got better, go on to larger problems."""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from planrank import console, files, julia
from planrank.errors import PlanrankError
from planrank.improving import curves
from planrank.improving.choice import hardness, weighted_sample
from planrank.improving.config import FRESH, ImproveConfig
from planrank.improving.ladder import Ladder, LadderProblem, ladder_of
from planrank.improving.log import ImproveLog
from planrank.improving.searching import Found, Terms, search_all
from planrank.improving.state import Known, State, exists
from planrank.learning.config import TrainConfig
from planrank.learning.selection import Figures
from planrank.learning.train import alone_in, scratch_of_torch
from planrank.models import families, library
from planrank.models.model import Model
from planrank.parallel.cluster import check_ray, connect
from planrank.task import load

START = "start.safetensors"
PRESENT = "present.safetensors"
TRIED = "tried.safetensors"
AGAIN = 1 / 3  # of the problems of a round: those that were hard before, where others can be had
BUDGET_GROWTH = 2


class OutOfTime(Exception):
    """The hours are over."""


def improve(config: ImproveConfig, *, resume: bool = False, say: Callable[[str], None] = console.say) -> Model:
    """Improve a model as configured; the best one, which is written to `config.out` whenever there is a better one.

    All else goes into a folder beside it; `resume` goes on from there as if nothing had happened. `say` gets sentences
    that a user may want to read on the way.
    """
    if config.cluster is not None:
        check_ray()
    julia.module()  # before torch
    if config.cluster is not None:
        connect(config.cluster)  # if it is not reached, that is said before anything is made
    out = Path(config.out)
    if resume and not exists(config.folder):
        raise PlanrankError("there is no run to go on with", file=str(config.folder))
    options: dict[str, Any] = {"problems": config.problems, "held_out": config.held_out, "seed": config.seed}
    ladder = ladder_of(config.domain, config.sizes, config.folder / "problems", **options)
    files.make_folder(config.folder)
    files.check_writable(out)
    with scratch_of_torch(), alone_in(config.folder):
        run = Run(config, ladder, resume, say)
        run.run()
    return run.state.best


def starting_model(config: ImproveConfig, ladder: Ladder, say: Callable[[str], None]) -> Model:
    first = ladder.held_out(0)[0]
    task = load(first.domain, first.problem)
    file = config.model or library.fitting_model(task)
    if file is None or str(file) == FRESH:
        training = TrainConfig(domain=config.domain, seed=config.seed)
        say("begins with random weights" + ("" if config.model else ": no model fits"))
        return Model.fresh(families.get(training.family).signature(task), training.architecture, config.seed)
    model = Model.load(file)
    try:
        model.check_reads(task)
    except PlanrankError as e:
        raise PlanrankError(e.message, file=str(file)) from None
    say(f"begins with {file}")
    return model


class Run:
    """One run, which may be the continuation of another."""

    def __init__(self, config: ImproveConfig, ladder: Ladder, resume: bool, say: Callable[[str], None]):
        from planrank.improving.learning import Learner

        self.config, self.ladder, self.say = config, ladder, say
        folder = config.folder
        if resume:
            start = Model.load(folder / START)
            self.state = State.load(config, start)
        else:
            for kept in ("problems", "plans"):  # of a run that is not gone on with
                shutil.rmtree(folder / kept, ignore_errors=True)
            start = starting_model(config, ladder, say)
            start.save(folder / START)
            self.state = State(start, start, budget=config.expansions)
            self.state.save(config)
        self.learner = Learner(config, start)
        whole_rounds = self.state.round if self.state.level >= 0 else -1
        self.log = ImproveLog(folder / "improve.jsonl", whole_rounds, self.state.figures is not None)
        self.search = "phs" if start.rank == "policy" else "gbfs"
        self.plans = folder / "plans"
        self.started = time.time()
        self.began = self.started - self.state.seconds

    def run(self) -> None:
        state, config = self.state, self.config
        try:
            if state.level < 0:
                self.find_level()
            while state.round < config.rounds and not self.is_done():
                self.one_round(state.round + 1)
        except OutOfTime:
            self.say(f"the {config.hours:g} hours are over; --resume goes on with round {state.round + 1}")
        files.write_text(config.folder / "curves.svg", curves.drawing(Path(config.out).stem, self.log.rows))

    def check_time(self) -> None:
        if self.config.hours is not None and time.time() - self.started > 3600 * self.config.hours:
            raise OutOfTime

    def save(self) -> None:
        self.state.seconds = time.time() - self.began
        self.state.save(self.config)

    # Where to begin

    def find_level(self) -> None:
        """The first size of which too few problems are solved, else the largest."""
        state, sizes = self.state, self.ladder.sizes
        self.keep_best()
        for level, size in enumerate(sizes):
            figures = self.try_out(state.best, level, 0, "start")
            self.say(f"{size}: {solved_text(figures)} before")
            if figures.solved < self.config.share * figures.of:
                break
        else:
            self.say(f"no problems are larger than those it solves: {sizes[-1]} are the largest")
        state.level = level
        self.save()

    def is_done(self) -> bool:
        """Nothing is left to solve: the largest are all solved without detours."""
        figures = self.state.figures
        at_top = self.state.level == len(self.ladder) - 1
        return (
            at_top and figures is not None and figures.solved == figures.of and figures.expansions <= figures.plan_steps
        )

    # One round

    def one_round(self, round: int) -> None:
        state, ladder = self.state, self.ladder
        self.check_baseline(round)
        size = ladder.sizes[state.level]
        problems = self.problems_of_round(round)
        before = {name for name, one in state.known.items() if one.found.solved}
        found = self.searches(round, problems)
        here = [(problem, found[problem.name]) for problem in problems if problem.level == state.level]
        measured = [one for one in here if one[0].name not in state.known] or here
        solved = sum(result.solved for _, result in measured)
        is_new = any(result.solved and problem.name not in before for problem, result in here)
        for problem in problems:
            self.note(problem, found[problem.name], round)

        loss = self.learn(round, {problem.name for problem in problems})
        is_better = self.keep_if_better(round) if loss is not None else False
        row = {"level": state.level, "size": size, "budget": state.budget, "solved": solved, "of": len(measured)}
        row |= {"plans": sum(1 for one in state.known.values() if one.plan_by), "loss": loss, "better": int(is_better)}
        self.log.write(round, time.time() - self.began, **row)
        self.say(
            f"round {round}: {size}: {solved} of {len(measured)} solved with {state.budget:,} expansions each; "
            f"{ladder.sizes[ladder.next_level(state.level)]} held out: {solved_text(state.figures)} at best, "
            f"of round {state.best_round}"
        )
        self.go_on(solved >= self.config.share * len(measured), is_new)
        state.round = round
        self.save()

    def problems_of_round(self, round: int) -> list[LadderProblem]:
        """New ones of the level, and some that were hard before; in the first round also smaller ones, so that there is
        something to remember."""
        state, config, ladder = self.state, self.config, self.ladder
        rng = random.Random(f"problems {config.seed}/{round}")
        met = [one for one in state.known.values() if one.problem.level == state.level]
        hard = [one for one in met if not one.found.solved or one.waste > 0]
        again = weighted_sample(rng, hard, [hardness(one) for one in hard], math.ceil(AGAIN * config.problems))
        fresh = ladder.fresh(state.level, round, config.problems - len(again), state.known)
        chosen = [one.problem for one in again]
        rest = [one for one in met if one.problem not in chosen]
        room = config.problems - len(again) - len(fresh)
        more = weighted_sample(rng, rest, [hardness(one) for one in rest], room)
        smaller = []
        if not state.known and state.level > 0:
            each = max(1, config.problems // state.level)
            for level in range(state.level):
                smaller += ladder.fresh(level, round, each, ())
        return smaller + chosen + fresh + [one.problem for one in more]

    def searches(self, round: int, problems: Sequence[LadderProblem]) -> dict[str, Found]:
        """What came of each problem; those that were searched before a run was stopped are not searched again."""
        state, config = self.state, self.config
        found = self.log.searches_of(round)
        waiting = [problem for problem in problems if problem.name not in found]
        terms = Terms(self.search, state.budget, config.search_time, config.strays)
        if state.stalled:
            limits: dict[str, Any] = {
                "fallback_expansions": config.fallback_expansions,
                "teacher_time": config.teacher_time,
            }
            terms = replace(terms, fallback=config.fallback, **limits)
        model, plans = config.folder / PRESENT, self.plans / f"{round:03}"
        state.present.save(model)
        files.make_folder(plans)
        label = f"round {round}: searching {self.ladder.sizes[state.level]}"
        with console.Progress(label, len(problems)) as progress:
            progress.advance(len(found))
            for problem, result in search_all(model, waiting, terms, plans, config.jobs, config.cluster):
                found[problem.name] = result
                self.log.search(round, problem, self.ladder.sizes[problem.level], result)
                progress.advance()
                progress.show(f"{sum(one.solved for one in found.values())} solved")
                self.check_time()
        return found

    def note(self, problem: LadderProblem, found: Found, round: int) -> None:
        """The newest plan is kept, with where its search went astray, unless there is a shorter one."""
        old = self.state.known.get(problem.name)
        if old is not None and (not found.by or 0 < old.plan_steps < found.steps):
            self.state.known[problem.name] = replace(old, found=found)
        else:
            self.state.known[problem.name] = Known(problem, found, found.by, found.steps, round)

    def learn(self, round: int, new: set[str]) -> float | None:
        """The mean loss; None if there is nothing to learn from yet."""
        state = self.state
        chosen = self.learner.choose(list(state.known.values()), new, round)
        lessons = self.learner.lessons(chosen, new, self.say)
        if not lessons:
            return None
        state.present, loss = self.learner.learn(state.present, lessons, round, self.check_time)
        return loss

    # Whether it got better

    def try_out(self, model: Model, level: int, round: int, which: str) -> Figures:
        """What a model does on the problems of a level that are held out."""
        config, size, problems = self.config, self.ladder.sizes[level], self.ladder.held_out(level)
        file = config.folder / TRIED
        model.save(file)
        terms = Terms(self.search, self.state.budget, config.search_time, 0)
        found = []
        with console.Progress(f"round {round}: trying {size} held out", len(problems)) as progress:
            for _, result in search_all(file, problems, terms, None, config.jobs, config.cluster):
                found.append(result)
                progress.advance()
                self.check_time()
        expansions, steps = sum(one.expanded for one in found), sum(one.steps for one in found)
        figures = Figures(sum(one.solved for one in found), len(found), expansions, steps)
        told = {f"held_out_{name}": value for name, value in asdict(figures).items()}
        told |= {"which": which, "held_out_size": size, "held_out_level": level, "budget": self.state.budget}
        self.log.write(round, time.time() - self.began, **told)
        return figures

    def check_baseline(self, round: int) -> None:
        """What the best model does on the problems by which it is chosen, if they are others than before."""
        state = self.state
        if state.figures is None:
            state.figures = self.try_out(state.best, self.ladder.next_level(state.level), round, "best")
            self.save()

    def keep_if_better(self, round: int) -> bool:
        """Whether the present weights are the best now. They are given up if they solve fewer than the best."""
        state = self.state
        figures = self.try_out(state.present, self.ladder.next_level(state.level), round, "present")
        assert state.figures is not None
        is_better = figures.better_than(state.figures)
        if is_better:
            state.best, state.best_round, state.figures = state.present, round, figures
            self.keep_best()
        elif figures.solved < state.figures.solved:
            state.present = state.best
        return is_better

    def keep_best(self) -> None:
        state = self.state
        figures = None if state.figures is None else state.figures.as_json()
        state.told = {"options": self.config.as_json(), "round": state.best_round, "held_out": figures}
        state.best = replace(state.best, metadata=state.best.metadata | {"improving": state.told})
        state.best.save(self.config.out)

    def go_on(self, most_are_solved: bool, is_new: bool) -> None:
        """To the next size, or with a larger budget, or as before."""
        state = self.state
        at_top = state.level == len(self.ladder) - 1
        state.stalled = not most_are_solved and not is_new
        if most_are_solved and not at_top:
            state.level += 1
            state.figures = None
        elif state.stalled and state.budget < self.config.most_expansions:
            state.budget = min(BUDGET_GROWTH * state.budget, self.config.most_expansions)
            state.figures = None
            self.say(f"nothing new is solved: {state.budget:,} expansions from now on")


def solved_text(figures: Figures | None) -> str:
    if figures is None:
        return "not tried"
    per_step = f", {figures.expansions / figures.plan_steps:.2f} expansions a step" if figures.plan_steps else ""
    return f"{figures.solved} of {figures.of} solved{per_step}"
