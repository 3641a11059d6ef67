"""One self-contained HTML file: data as JSON, our styles and scripts, and the plotting library, packed."""

from __future__ import annotations

import base64
import gzip
import html
import json
import math
from pathlib import Path
from typing import Any

from planrank.errors import PlanrankError
from planrank.files import write_text

ASSETS = Path(__file__).parent / "assets"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="planrank {version}">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{styles}</style>
</head>
<body>
<noscript>This page draws itself with JavaScript, which is switched off.</noscript>
<main id="page"></main>
<script type="application/json" id="data">{data}</script>
<script type="text/plain" id="plotly">{plotly}</script>
<script>
{scripts}</script>
</body>
</html>
"""


def write_page(file: Path, title: str, data: dict[str, Any], *scripts: str) -> None:
    """The page of these scripts, run one after the other; they find the data as `DATA`."""
    from planrank import __version__

    text = PAGE.format(
        version=__version__,
        title=html.escape(title),
        styles=asset("page.css"),
        data=embedded({"title": title, "version": __version__} | data),
        plotly=packed_plotly(),
        scripts="\n".join(asset(name) for name in ("page.js", *scripts)),
    )
    write_text(file, text)


def asset(name: str) -> str:
    return (ASSETS / name).read_text()


def embedded(data: object) -> str:
    """JSON that can stand inside a script element: nothing in it can end that, and no number is infinite."""
    text = json.dumps(finite(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def finite(data: Any) -> Any:
    """JSON knows no infinity: None stands for what is no number."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def packed_plotly() -> str:
    """Plotly's JavaScript, compressed to a third: the browser unpacks it."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        message = "pages are drawn by Plotly, which is not installed; `pip install plotly` brings it"
        raise PlanrankError(message) from None
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()
