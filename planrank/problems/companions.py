"""Files that say more of a domain than its PDDL: grid.toml, table.toml, teacher.toml.

They lie beside the domain file. Where there is none, that of planrank's own domain with the same predicates and
actions is taken, so that a copy of a domain file is as good as the original.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from planrank import julia, paths
from planrank.paths import own_domains
from planrank.problems.folders import own_domain_file
from planrank.task import Source, is_text, source_handle


def companion(domain: Source, signature: str, name: str) -> Path | None:
    """The file called `name` for a domain with this signature text; None where nobody has written one."""
    if not is_text(domain):
        beside = Path(domain).parent / name
        if beside.is_file():
            return beside
    for own in own_domains():
        file = paths.shared() / "domains" / own / name
        if file.is_file() and essence(own_signature(own)) == essence(signature):
            return file
    return None


def signature_of(domain: Source) -> str:
    return julia.call("domain_signature", source_handle(domain, "domain"))


@lru_cache(maxsize=64)
def own_signature(name: str) -> str:
    return signature_of(own_domain_file(name))


def essence(signature: str) -> str:
    """All but the first line, which is the domain's name."""
    return signature.partition("\n")[2]
