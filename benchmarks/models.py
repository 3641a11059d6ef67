"""Makes every model that comes with planrank, domains/*/model.json or, of grids, model.safetensors, again.

    python benchmarks/models.py [--domains gripper,ferry] [--seeds N] [--jobs N]

For each domain: the problems of its standard set "train", plans by the teacher named below, the default configuration
but for the exceptions below; the validation problems alone decide which weights are kept. Some models are then improved
by `planrank improve`, as IMPROVEMENTS says, one stage after the other, on problems that it makes itself. Problems,
plans, checkpoints and logs lie in the folder --work, from where an interrupted run goes on. Models are written only
when all of them are trained, and say themselves how they were made.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import script
from tables import markdown
from training import QUICK, TRAIN, Settings

from planrank import Model, PlanrankError, TrainConfig, paths
from planrank.console import Progress, say
from planrank.files import digest, make_folder
from planrank.improving.config import ImproveConfig
from planrank.improving.improve import improve
from planrank.improving.state import exists
from planrank.parallel.pool import Job, Pool
from planrank.problems.labelled_plans import read_plan
from planrank.problems.teachers import check_teacher

# Who proves the plans of a domain's problems optimal soonest; problems without such a plan are not learned from.
TEACHERS = {
    "blocksworld": "fast-downward",
    "elevators": "fast-downward",
    "ferry": "symk",
    "gripper": "symk",
    "maze": "builtin",
    "npuzzle": "fast-downward",
    "sokoban": "builtin",
    "spanner": "symk",
    "tiles": "builtin",
}
TEACHER_SECONDS = 60.0
# Networks over grids see many small problems. No teacher proves plans of tiles optimal.
GRIDS = {"loss": "lgbfs", "teacher_time": 6.0, "validation_instances": 30, "validation_expansions": 600}
EXCEPTIONS: dict[str, dict[str, object]] = {
    # Of ten 4x4 puzzles the default solved six, this all.
    "npuzzle": {"value": "pooled", "pooling": ("sum", "max"), "steps": 3_000},
    # A map has few weights, some of which must go far: a wall costs more than any way around it.
    "maze": GRIDS | {"network": "map", "steps": 5_000, "learning_rate": 0.03, "weight_decay": 0.0},
    # Detours show it states from which the goal is far or out of reach.
    "sokoban": GRIDS
    | {"teacher_time": 1.5, "detours": 1, "states_per_step": 16, "steps": 26_000, "validation_expansions": 300},
    "tiles": GRIDS | {"allow_suboptimal": True, "steps": 50_000, "validation_expansions": 2_000},
}
# What is done after training: options of `planrank improve` for each stage.
IMPROVEMENTS: dict[str, list[Settings]] = {
    "sokoban": [
        {"sizes": "boxes=4,5,6,7", "rounds": 12},
        {"sizes": "boxes=4-7 pulls=40-120 steady=1-95", "rounds": 8, "problems": 40, "held_out": 30, "steps": 800}
        | {"expansions": 4_000, "strays": 3, "seed": 5},
    ],
}
QUICK_IMPROVEMENTS = {"gripper": [{"sizes": "balls=3-9", "rounds": 1, "problems": 2, "held_out": 2, "steps": 10}]}
HEADER = ["domain", "plans", "proved optimal", "seed", "step", "validation solved", "expansions", "seconds"]


def main() -> None:
    options = parsed()
    with script.folder_for(options.work) as work:
        out = work / "domains" if options.quick else paths.shared() / "domains"
        configurations = {name: configuration(name, work, options) for name in options.domains}
        for config in configurations.values():
            check_teacher(config["teacher"])
        train_all(configurations, options.jobs)
        models = {name: finished(config) for name, config in configurations.items()}
        stages = QUICK_IMPROVEMENTS if options.quick else IMPROVEMENTS
        models = {name: improved(name, model, stages.get(name, []), work) for name, model in models.items()}
        for name, model in models.items():
            make_folder(out / name)
            model.save(out / name / file_name(model))
    print("\n".join(markdown(HEADER, [line_of(name, model) for name, model in models.items()])))


def file_name(model: Model) -> str:
    """Text, which git can show, unless it would be too large."""
    return "model.json" if model.architecture.family_name == "hypergraph" else "model.safetensors"


def configuration(name: str, work: Path, options: argparse.Namespace) -> Settings:
    """The default one, but for the teacher, and so that everything lies in the folder `work`."""
    settings = {"domain": name, "teacher": TEACHERS[name], "teacher_time": TEACHER_SECONDS, "seeds": options.seeds}
    settings |= EXCEPTIONS.get(name, {})
    if options.quick:
        settings |= QUICK | {"profile": "quick", "teacher": "builtin", "max_instances": 6}
    settings |= {"out": str(work / f"{name}.safetensors"), "data": str(work / "data" / name)}
    return TrainConfig(**settings).as_json()


def train_all(configurations: dict[str, Settings], processes: int) -> None:
    """PlanrankError, after the others are done, if one fails."""
    failed = []
    domains = list(configurations)
    jobs = [Job(TRAIN, {"config": config}) for config in configurations.values()]
    with Progress("models", len(jobs)) as progress:
        for number, answer in Pool(processes).map(jobs):
            progress.advance()
            if answer.error is None:
                say(f"{domains[number]}: trained")
            else:
                failed.append(f"{domains[number]}: {answer.error}")
    if failed:
        raise PlanrankError(f"no model was written, because not all could be trained: {'; '.join(failed)}")


def finished(config: Settings) -> Model:
    """The model that training has kept, with an account of how it was made."""
    model = Model.load(config["out"])
    training = model.metadata["training"]
    made = {
        "by": "benchmarks/models.py",
        "data": account_of(Path(config["data"]), config),
        "seed": training["seed"],
        "seeds_tried": list(range(config["seed"], config["seed"] + config["seeds"])),
        "choice": choice(config),
    }
    # Where files lay on one machine says nothing to others.
    model.metadata |= {"training": training | {"out": None, "data": None}, "made": made}
    return model


def improved(name: str, model: Model, stages: Sequence[Settings], work: Path) -> Model:
    """After all stages, of which the model tells."""
    for stage, options in enumerate(stages, 1):
        start, out = work / f"{name}-start{stage}.safetensors", work / f"{name}-improved{stage}.safetensors"
        model.save(start)
        config = ImproveConfig(domain=name, model=str(start), out=str(out), **options)
        model = improve(config, resume=exists(config.folder))
        before = model.metadata["made"].get("improved", [])
        model.metadata["made"] |= {"improved": [*before, dict(options, round=model.metadata["improving"]["round"])]}
        del model.metadata["improving"]  # the same, with places of files
    return model


def account_of(folder: Path, config: Settings) -> dict:
    """What there was to learn from: only problems of the training part have plans."""
    problems = sorted(file for file in folder.glob("*.pddl") if file.name != "domain.pddl")
    plans = sorted(folder.glob("*.plan"))
    proved = sum(read_plan(file).proved_optimal for file in plans)
    return {
        "set": config["instances"],
        "teacher": config["teacher"],
        "problems": len(problems),
        "plans": len(plans),
        "proved_optimal": proved,
        "digest": digest(folder / "domain.pddl", *problems, *plans),
    }


def choice(config: Settings) -> str:
    """The rule by which weights are kept, in words."""
    limits = f"at most {config['validation_expansions']:,} expansions and {config['validation_time']:g} s each"
    return (
        f"The weights after every {config['validate_every']:,} steps with every seed were tried on at most "
        f"{config['validation_instances']} validation problems with {config['validation_search']}, {limits}. Kept were "
        "those that solved the most, of these the ones with the fewest expansions. The test problems had no say."
    )


def line_of(name: str, model: Model) -> list[str]:
    made, figures = model.metadata["made"], model.metadata["figures"]
    solved = f"{figures['validation_solved']} of {figures['validation_of']}"
    counts = [made["data"]["plans"], made["data"]["proved_optimal"], made["seed"], figures["step"]]
    return [name, *map(str, counts), solved, str(figures["validation_expansions"]), f"{figures['seconds']:.0f}"]


def parsed() -> argparse.Namespace:
    parser = script.parser(__doc__, results=False)
    parser.add_argument("--domains", type=script.names(TEACHERS), default=list(TEACHERS), metavar="NAME,…")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="train with seeds 0 to N - 1, keep the best")
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time")
    parser.add_argument(
        "--work", type=Path, default=Path("planrank-data/shipped-models"), help="everything else is kept here"
    )
    return script.parse(parser, quick={"domains": ["gripper"], "work": None})


if __name__ == "__main__":
    script.run(main)
