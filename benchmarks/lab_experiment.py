"""An experiment with lab (`pip install planrank[lab]`): classical searches of planrank and a model, side by side.

    python benchmarks/lab_experiment.py --all              # every step: build, run, parse, fetch, report
    python benchmarks/lab_experiment.py build start        # some of them; without arguments they are listed

The parsers and the report are lab's own, unchanged: planrank's log has the lines that they read. `PLANRANK_LAB` names
the folder that the experiment is written to, `DOWNWARD_BENCHMARKS` the problems, by default planrank's own.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from downward import suites
from downward.parsers.exitcode_parser import ExitcodeParser
from downward.parsers.planner_parser import PlannerParser
from downward.parsers.single_search_parser import SingleSearchParser
from downward.reports.absolute import AbsoluteReport
from lab.environments import LocalEnvironment
from lab.experiment import Experiment

from planrank import paths

FOLDER = os.environ.get("PLANRANK_LAB", "planrank-lab")
COLLECTION = Path(os.environ.get("DOWNWARD_BENCHMARKS", paths.shared() / "domains"))
SUITE = os.environ.get("PLANRANK_LAB_SUITE", "blocksworld:example.pddl").split()
TIME_LIMIT, MEMORY_LIMIT = 60, 4000

ALGORITHMS = {
    "astar-lmcut": ["--search", "astar", "--heuristic", "lmcut"],
    "lazy-ff": ["--search", "lazy", "--heuristic", "ff"],
    "gbfs-model": ["--search", "gbfs"],  # a model that fits the domain, else hFF
}
ATTRIBUTES = ["coverage", "cost", "plan_length", "expansions", "evaluations", "generated", "error", "search_time",
              "total_time", "planner_time", "memory", "score_expansions", "score_total_time"]  # fmt: skip


def experiment() -> Experiment:
    made = Experiment(path=FOLDER, environment=LocalEnvironment(processes=1))
    for parser in (ExitcodeParser(), SingleSearchParser(), PlannerParser()):
        made.add_parser(parser)
    for name, options in ALGORITHMS.items():
        for task in suites.build_suite(COLLECTION, SUITE):
            run = made.add_run()
            run.add_resource("domain", task.domain_file, symlink=True)
            run.add_resource("problem", task.problem_file, symlink=True)
            limits = ["--time-limit", str(TIME_LIMIT), "--memory-limit", str(MEMORY_LIMIT)]
            command = [sys.executable, "-m", "planrank", "solve", "{domain}", "{problem}", *options, *limits]
            # lab's own limits are wider, so that planrank can say which of its own was met.
            run.add_command("planner", command, time_limit=TIME_LIMIT + 30, memory_limit=None)
            run.set_property("domain", task.domain)
            run.set_property("problem", task.problem)
            run.set_property("algorithm", name)
            run.set_property("id", [name, task.domain, task.problem])
    made.add_step("build", made.build)
    made.add_step("start", made.start_runs)
    made.add_step("parse", made.parse)
    made.add_fetcher(name="fetch")
    made.add_report(AbsoluteReport(attributes=ATTRIBUTES), outfile="report.html")
    return made


if __name__ == "__main__":
    experiment().run_steps()
