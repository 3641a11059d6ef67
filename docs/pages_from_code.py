"""A hook of mkdocs: what stands in the code or in benchmarks/results is put into pages, so that it is written once.

<!-- help of the commands -->    what `planrank COMMAND --help` says, command by command
<!-- results NAME -->            benchmarks/results/NAME.md, its headings two levels lower
<!-- cells of FILE -->           a script in the percent format as text and blocks of code
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page."""
    markdown = markdown.replace("<!-- help of the commands -->", help_of_the_commands())
    markdown = re.sub(r"<!-- results (\S+) -->", lambda found: results(found[1]), markdown)
    return re.sub(r"<!-- cells of (\S+) -->", lambda found: cells(REPOSITORY / found[1]), markdown)


def help_of_the_commands() -> str:
    import click

    from planrank.cli.main import cli

    parts = []
    for name, command in cli.commands.items():
        context = click.Context(command, info_name=f"planrank {name}", max_content_width=110, terminal_width=100)
        parts.append(f"## planrank {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def results(name: str) -> str:
    text = (REPOSITORY / "benchmarks/results" / f"{name}.md").read_text()
    return re.sub(r"^#", "###", text, flags=re.M).replace("### ", "## ", 1)


def cells(file: Path) -> str:
    """Without the header, which is for jupytext."""
    parts = []
    for cell in re.split(r"^# %%", file.read_text(), flags=re.M)[1:]:
        first, _, rest = cell.partition("\n")
        if "[markdown]" in first:
            parts.append("\n".join(line.removeprefix("#").removeprefix(" ") for line in rest.strip().splitlines()))
        else:
            parts.append(f"```python\n{rest.strip()}\n```")
    return "\n\n".join(parts) + "\n"
