"""The wheel road: a Julia made from packages of the Python index, for machines that reach nothing else.

The wheel of `pmpc` carries Julia 1.6.7 whole, inside a system image of its own; the source archive of juliacall
carries PythonCall. This lays them out as an ordinary Julia installation with a project that has PythonCall in it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

from planrank.console import Steps
from planrank.errors import PlanrankError
from planrank.runtime.processes import run

JULIA = "1.6.7"
JULIACALL = "0.9.24"
RECIPE = Path(__file__).parent / "wheel_road"

# machine: (platform tag, sha256 of the wheel for CPython 3.11); only Julia's libraries are taken from it, so the
# Python version that runs this does not matter.
WHEELS = {
    "x86_64": ("manylinux_2_28_x86_64", "6f126e2c3ce11a84f292bb4df74a1072f50d3736b5d184bf0711db327f448047"),
    "aarch64": ("manylinux_2_35_aarch64", "2c0d3ee33fef7d4e28bbaab390f358c057aaf583468a28a3cdd16cc6fe9d2600"),
}
SDIST_SHA256 = "31bed223489b535e4e8db46bfff4596350c24f757b9c2d17296c07397f75948b"

PYTHONCALL = "6099a3de-0909-46bc-b1f4-468b9a2dfc0d"
STANDARD = {
    "Dates": "ade2ca70-3891-5945-98fb-dc099432e06a",
    "Libdl": "8f399da3-3557-5675-b5ff-fb832c97cbdb",
    "MacroTools": "1914dd2f-81c6-5fcd-8719-6d5c9610ff09",
    "Markdown": "d6f4376e-aef5-505a-96c1-9c027394607a",
    "Pkg": "44cfe95a-1eb2-52ea-b672-e2afdf69b78f",
    "Requires": "ae029012-a4dd-5104-9daa-d747884805df",
    "Serialization": "9e88b42a-f829-5b0c-bbe9-9e923198166b",
}
STAND_INS = {
    "CondaPkg": "992eb4ea-22a4-4c89-a5bb-47a3300528ab",
    "PythonHandle": "2a3f60c1-4c0e-4a5c-9c55-b2b6e7a0c7d4",
    "Tables": "bd369af6-aec1-5ad0-b16a-f7cc5008161c",
    "UnsafePointers": "e17b2a0c-0bdf-430a-bd0c-3a23cae4ff39",
}


def why_not_here() -> str | None:
    """The reason why this machine cannot take the wheel road, if there is one."""
    if platform.system() != "Linux" or platform.machine() not in WHEELS:
        return (
            f"the wheel road exists for Linux on {' and '.join(WHEELS)}, not {platform.system()} {platform.machine()}"
        )
    return None


def recipe_digest() -> str:
    """Names what the road leads to: another recipe makes another folder."""
    digest = hashlib.sha256(f"{JULIA} {JULIACALL}".encode())
    for file in [Path(__file__), *sorted(RECIPE.iterdir())]:
        if file.is_file() and file.name != "image.jl":
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def assemble(prefix: Path, steps: Steps) -> None:
    """Make the Julia installation in the folder `prefix`, which must not exist."""
    downloads = prefix.with_name(prefix.name + "-downloads")
    shutil.rmtree(downloads, ignore_errors=True)
    try:
        tag, sha256 = WHEELS[platform.machine()]
        with steps.step(f"downloading Julia {JULIA} from the Python index (248 MB)"):
            only = ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp", "--abi=cp311"]
            wheel = download("pmpc==0.7.1", downloads, sha256, *only, f"--platform={tag}")
            sdist = download(f"juliacall=={JULIACALL}", downloads, SDIST_SHA256, "--no-binary=juliacall")
        with steps.step("unpacking"):
            unpack_julia(wheel, prefix)
            unpack_pythoncall(sdist, prefix / "packages" / "PythonCall")
        with steps.step("laying out"):
            lay_out(prefix)
    finally:
        shutil.rmtree(downloads, ignore_errors=True)


def download(requirement: str, folder: Path, sha256: str, *options: str) -> Path:
    """One file by way of pip, as the machine is set up to use it; kept only if its hash is right."""
    target = folder / requirement.partition("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    folder.mkdir(exist_ok=True)
    # pip that is killed leaves its temporary folders; here they go with the downloads.
    here = os.environ | {"TMPDIR": str(folder)}
    run(f"pip's download of {requirement}", [*command, f"--dest={target}", *options, requirement], here)
    (file,) = target.iterdir()
    found = sha256_of(file)
    if found != sha256:
        raise PlanrankError(f"{file.name} was refused: its sha256 is {found}, expected {sha256}", "runtime")
    return file


def sha256_of(file: Path) -> str:
    digest = hashlib.sha256()
    with open(file, "rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def unpack_julia(wheel: Path, prefix: Path) -> None:
    """Only Julia's own files. A zip archive knows no links, so the wheel holds most libraries three times."""
    root = "PMPC.jl/pmpcjl/"
    written: dict[tuple[int, int], Path] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or not entry.filename.startswith((root + "lib/", root + "share/julia/")):
                continue
            name = entry.filename.removeprefix(root)
            target = prefix / ("lib/julia/sys.so" if name == "lib/libPMPC.so" else name)
            target.parent.mkdir(parents=True, exist_ok=True)
            same = written.setdefault((entry.CRC, entry.file_size), target)
            if same is not target:
                target.symlink_to(os.path.relpath(same, target.parent))
                continue
            with archive.open(entry) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)


def unpack_pythoncall(sdist: Path, folder: Path) -> None:
    root = f"juliacall-{JULIACALL}/"
    with tarfile.open(sdist) as archive:
        for entry in archive.getmembers():
            name = entry.name.removeprefix(root)
            content = archive.extractfile(entry) if entry.isfile() else None
            if content is not None and (name == "Project.toml" or name.startswith(("src/", "pysrc/"))):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


def lay_out(prefix: Path) -> None:
    """The launcher, the stand-in packages, the project that names them, and the standard library's folder."""
    (prefix / "bin").mkdir()
    for name in ("julia", "launcher.py"):
        shutil.copy(RECIPE / name, prefix / "bin" / name)
    (prefix / "bin" / "julia").chmod(0o755)

    manifest = [f'[[{name}]]\nuuid = "{uuid}"\n' for name, uuid in STANDARD.items()]
    for name, uuid in STAND_INS.items():
        needs_libdl = name == "PythonHandle"
        write(
            prefix / f"packages/{name}/Project.toml",
            f'name = "{name}"\nuuid = "{uuid}"\n' + (f'[deps]\nLibdl = "{STANDARD["Libdl"]}"\n' if needs_libdl else ""),
        )
        write(prefix / f"packages/{name}/src/{name}.jl", (RECIPE / f"{name}.jl").read_text())
        deps = 'deps = ["Libdl"]\n' if needs_libdl else ""
        manifest.append(f'[[{name}]]\n{deps}path = "../packages/{name}"\nuuid = "{uuid}"\n')
    deps = ", ".join(f'"{name}"' for name in sorted([*STANDARD, "CondaPkg", "Tables", "UnsafePointers"]))
    manifest.append(f'[[PythonCall]]\ndeps = [{deps}]\npath = "../packages/PythonCall"\nuuid = "{PYTHONCALL}"\n')
    write(prefix / "project/Manifest.toml", "\n".join(manifest))
    direct = f'[deps]\nPythonCall = "{PYTHONCALL}"\nPythonHandle = "{STAND_INS["PythonHandle"]}"\n'
    write(prefix / "project/Project.toml", direct)

    run_julia(prefix, str(RECIPE / "standard_library.jl"), str(prefix / "share/julia/stdlib/v1.6"))


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def environment(prefix: Path) -> dict[str, str]:
    """The variables with which this Julia, and juliacall on it, must be started."""
    return {
        "JULIA_DEPOT_PATH": f"{prefix / 'depot'}:{prefix / 'share/julia'}",
        "PLANRANK_PYTHON": sys.executable,
        "PYTHON_JULIAPKG_OFFLINE": "yes",
        "PYTHON_JULIAPKG_EXE": str(prefix / "bin/julia"),
        "PYTHON_JULIAPKG_PROJECT": str(prefix / "project"),
    }


def run_julia(prefix: Path, *arguments: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JULIA_", "PYTHON_JULIA"))}
    command = [str(prefix / "bin/julia"), "--startup-file=no", *arguments]
    return run("Julia", command, inherited | environment(prefix))
