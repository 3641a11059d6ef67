"""Model files: one safetensors file, or the same as JSON text (the models that come with planrank, which git can show).

The header holds texts; a digest of everything tells an edited file from a good one.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planrank import files
from planrank.errors import PlanrankError
from planrank.models import families

if TYPE_CHECKING:
    from planrank.models.family import Family

FORMAT = "planrank model 1"
JSON_BEGINNING, JSON_END = '{"header": ', "}}"


def digest(header: dict[str, str], weights: dict[str, np.ndarray]) -> str:
    total = hashlib.sha256()
    for name in sorted(header):
        total.update(f"{name}\0{header[name]}\0".encode())
    for name in sorted(weights):
        total.update(f"{name}\0{weights[name].shape}\0".encode() + weights[name].astype("<f4").tobytes())
    return total.hexdigest()


def write(file: Path, header: dict[str, str], weights: dict[str, np.ndarray]) -> None:
    header = {"format": FORMAT, **header}
    header["digest"] = digest(header, weights)
    if file.suffix == ".json":
        content = as_json(header, weights).encode()
    else:
        from safetensors.numpy import save

        content = save({name: np.ascontiguousarray(array) for name, array in weights.items()}, header)
    files.write_bytes(file, content)


def as_json(header: dict[str, str], weights: dict[str, np.ndarray]) -> str:
    """A line for each array, its numbers as short as they can be read back."""
    shapes = {name: array.shape for name, array in weights.items()}
    lines = [f"{json.dumps(name)}: [{','.join(map(str, array.ravel()))}]" for name, array in weights.items()]
    return (
        f'{JSON_BEGINNING}{json.dumps(header, indent=1)},\n"shapes": {json.dumps(shapes)},\n"weights": {{\n'
        + ",\n".join(lines)
        + f"\n{JSON_END}"
    )


def read_header(file: Path) -> dict[str, str]:
    """The texts only; the weights are not looked at, because `planrank solve` asks this of every model there is."""
    if file.suffix != ".json":
        return _open_safetensors(file).metadata()
    text = _read_text(file)
    if not (text.startswith(JSON_BEGINNING) and text.endswith(JSON_END)):
        raise damaged(file)
    try:
        header, _ = json.JSONDecoder().raw_decode(text, len(JSON_BEGINNING))
    except ValueError:
        raise damaged(file) from None
    checked_format(header, file)
    return header


def read(file: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """Header and weights, checked."""
    if file.suffix == ".json":
        content = _read_json(file)
        header = content["header"]
        try:
            shapes = content["shapes"]
            lists = content["weights"].items()
            weights = {name: np.array(flat, np.float32).reshape(shapes[name]) for name, flat in lists}
        except (KeyError, ValueError, TypeError, AttributeError):
            raise damaged(file) from None
    else:
        opened = _open_safetensors(file)
        header = opened.metadata()
        weights = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    stated = header.pop("digest", "")
    if stated != digest(header, weights):
        raise PlanrankError("this model file was changed after it was written", file=str(file))
    return header, weights


def family_of(header: dict[str, str], file: Path) -> Family:
    """Files older than families name none; they are of the first one."""
    try:
        return families.get(header.get("family", "hypergraph"))
    except PlanrankError as e:
        raise PlanrankError(e.message, file=str(file)) from None


def damaged(file: Path) -> PlanrankError:
    return PlanrankError("this is no model file of planrank, or it is damaged", file=str(file))


def checked_format(header: object, file: Path) -> None:
    if not isinstance(header, dict) or not str(header.get("format", "")).startswith("planrank model"):
        raise damaged(file)
    if header["format"] != FORMAT:
        raise PlanrankError(f"this is a '{header['format']}', expected '{FORMAT}'", file=str(file))


def _read_text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as e:
        raise PlanrankError(f"the model cannot be read: {e.strerror}", file=str(file)) from None
    except ValueError:
        raise damaged(file) from None


def _read_json(file: Path) -> dict:
    try:
        content = json.loads(_read_text(file))
    except ValueError:
        raise damaged(file) from None
    checked_format(content.get("header") if isinstance(content, dict) else None, file)
    return content


def _open_safetensors(file: Path) -> Any:
    from safetensors import SafetensorError, safe_open

    if not file.is_file():
        raise PlanrankError("there is no such model file", file=str(file))
    try:
        opened = safe_open(file, framework="np")
        header = opened.metadata()
    except (SafetensorError, OSError):
        raise damaged(file) from None
    checked_format(header, file)
    return opened
