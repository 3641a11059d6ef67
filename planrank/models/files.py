"""Model files: one safetensors file, or the same as JSON text (the models that come with planrank, which git can show).

The header holds texts; a digest of everything tells an edited file from a good one. A file that somebody else made may
say anything, so sizes and types are looked at before they are believed.
"""

from __future__ import annotations

import hashlib
import json
import math
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
LARGEST_FILE = 256 * 2**20  # bytes
LARGEST_HEADER = 4 * 2**20  # of a safetensors file, and characters of the texts of a JSON file

Header = dict[str, str]
Weights = dict[str, np.ndarray]

# What reading texts of unknown origin may end in; the last for brackets inside brackets without end.
BROKEN = (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


def digest(header: Header, weights: Weights) -> str:
    total = hashlib.sha256()
    for name in sorted(header):
        total.update(f"{name}\0{header[name]}\0".encode())
    for name in sorted(weights):
        total.update(f"{name}\0{weights[name].shape}\0".encode() + weights[name].astype("<f4").tobytes())
    return total.hexdigest()


def write(file: Path, header: Header, weights: Weights) -> None:
    header = {"format": FORMAT, **header}
    header["digest"] = digest(header, weights)
    if file.suffix == ".json":
        content = as_json(header, weights).encode()
    else:
        from safetensors.numpy import save

        content = save({name: np.ascontiguousarray(array) for name, array in weights.items()}, header)
    files.write_bytes(file, content)


def as_json(header: Header, weights: Weights) -> str:
    """A line for each array, its numbers as short as they can be read back."""
    shapes = {name: array.shape for name, array in weights.items()}
    lines = [f"{json.dumps(name)}: [{','.join(map(str, array.ravel()))}]" for name, array in weights.items()]
    return (
        f'{JSON_BEGINNING}{json.dumps(header, indent=1)},\n"shapes": {json.dumps(shapes)},\n"weights": {{\n'
        + ",\n".join(lines)
        + f"\n{JSON_END}"
    )


def read_header(file: Path) -> Header:
    """The texts only; the weights are not looked at, because `planrank solve` asks this of every model there is."""
    content = read_content(file)
    try:
        header = text_header(content.decode()) if file.suffix == ".json" else safetensors_header(content)[0]
    except BROKEN:
        raise damaged(file) from None
    return checked_header(header, file)


def read(file: Path) -> tuple[Header, Weights]:
    """Header and weights, checked."""
    content = read_content(file)
    try:
        if file.suffix == ".json":
            header, weights = text_header(content.decode()), text_weights(json.loads(content))
        else:
            header, tensors = safetensors_header(content)
            weights = safetensors_weights(content, tensors)
        header = checked_header(header, file)
        whole = header.pop("digest", "") == digest(header, weights)
    except BROKEN:
        raise damaged(file) from None
    if not whole:
        raise PlanrankError("this model file was changed after it was written", file=str(file))
    return header, weights


def read_content(file: Path) -> bytes:
    try:
        if not file.exists():
            raise PlanrankError("there is no such model file", file=str(file))
        if not file.is_file():
            raise PlanrankError("this is no regular file, expected a model file", file=str(file))
        if file.stat().st_size > LARGEST_FILE:
            limit = f"a model file has at most {LARGEST_FILE // 2**20} MB"
            raise PlanrankError(f"this file is too large: {limit}", file=str(file))
        return file.read_bytes()
    except OSError as e:
        raise PlanrankError(f"the model cannot be read: {e.strerror}", file=str(file)) from None


def text_header(text: str) -> Any:
    if not (text.startswith(JSON_BEGINNING) and text.endswith(JSON_END)):
        raise ValueError
    header, end = json.JSONDecoder().raw_decode(text, len(JSON_BEGINNING))
    if end > LARGEST_HEADER:
        raise ValueError
    return header


def text_weights(content: dict[str, Any]) -> Weights:
    shapes, weights = content["shapes"], {}
    for name, flat in content["weights"].items():
        if not set(map(type, flat)) <= {int, float}:
            raise ValueError
        weights[name] = np.array(flat, np.float32).reshape([whole(size) for size in shapes[name]])
    if len(weights) != len(shapes):
        raise ValueError
    return weights


def safetensors_header(content: bytes) -> tuple[Any, dict[str, Any]]:
    """Our texts, and what the file says of its tensors."""
    length = int.from_bytes(content[:8], "little")
    if length > min(LARGEST_HEADER, len(content) - 8):
        raise ValueError
    tensors = json.loads(content[8 : 8 + length])
    return tensors.pop("__metadata__"), tensors


def safetensors_weights(content: bytes, tensors: dict[str, Any]) -> Weights:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    for tensor in tensors.values():
        if tensor["dtype"] != "F32" or 4 * math.prod(map(whole, tensor["shape"])) > len(content):
            raise ValueError
    try:
        return load(content)
    except SafetensorError:
        raise ValueError from None


def whole(size: Any) -> int:
    if type(size) is not int or size < 0:
        raise ValueError
    return size


def checked_header(header: Any, file: Path) -> Header:
    texts = isinstance(header, dict) and all(isinstance(part, str) for item in header.items() for part in item)
    if not texts or not header.get("format", "").startswith("planrank model"):
        raise damaged(file)
    if header["format"] != FORMAT:
        raise PlanrankError(f"this is a '{header['format']}', expected '{FORMAT}'", file=str(file))
    return header


def family_of(header: Header, file: Path) -> Family:
    """Files older than families name none; they are of the first one."""
    try:
        return families.get(header.get("family", "hypergraph"))
    except PlanrankError as e:
        raise PlanrankError(e.message, file=str(file)) from None


def architecture_of(header: Header, file: Path) -> dict[str, Any]:
    """The options of the architecture, with those that older files do not name as they were then. Files older than the
    ranking of actions rank states, or have a policy that saw too little of an action to be any good."""
    try:
        options = json.loads(header["architecture"])
        old_policy = options.pop("policy", False)
    except BROKEN:
        raise damaged(file) from None
    if old_policy:
        message = "this model has a policy of an older kind; train it again with `planrank train --loss levin`"
        raise PlanrankError(message, file=str(file))
    before = {"rank": "states", "distances": False, "relaxed": False, "value": "pooled"}
    return (before if header.get("family", "hypergraph") == "hypergraph" else {}) | options


def damaged(file: Path) -> PlanrankError:
    return PlanrankError("this is no model file of planrank, or it is damaged", file=str(file))
