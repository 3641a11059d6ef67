"""Says which lines of the Julia code are too long or end in spaces; what a formatter would see to, were there one."""

import sys
from pathlib import Path

LONGEST = 120


def faults(root: Path) -> list[str]:
    found = []
    for file in sorted(root.rglob("*.jl")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if len(line) > LONGEST or line != line.rstrip() or "\t" in line:
                found.append(f"{file}:{number}: longer than {LONGEST} characters, a tab, or spaces at the end")
    return found


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    found = [fault for folder in ("julia", "planrank") for fault in faults(root / folder)]
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
