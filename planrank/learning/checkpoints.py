"""Checkpoints: one safetensors file with the state as JSON inside, so that both are always of the same moment."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as tensors_of_bytes
from safetensors.numpy import save as bytes_of_tensors

from planrank.errors import PlanrankError
from planrank.files import write_bytes

FORMAT = 1


def save(file: Path, tensors: dict[str, np.ndarray], state: dict[str, Any]) -> None:
    """Write all of it or, if the disk is full, nothing: what was there before stays."""
    text = json.dumps({"format": FORMAT} | state)
    write_bytes(file, bytes_of_tensors(tensors, {"state": text, "sha256": digest(tensors, text)}))


def load(file: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors and state; PlanrankError if the file is not as it was written."""
    try:
        content = file.read_bytes()
        tensors = tensors_of_bytes(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        text = header["state"]
        whole = header["sha256"] == digest(tensors, text)
        state = json.loads(text)
    except OSError as e:
        raise PlanrankError(f"the checkpoint cannot be read: {e.strerror}", file=str(file)) from None
    except (SafetensorError, KeyError, ValueError):
        whole = False
    if not whole:
        raise PlanrankError("this is not a whole checkpoint of planrank; train without --resume", file=str(file))
    if state["format"] != FORMAT:
        found = f"the checkpoint is of format {state['format']}, expected {FORMAT}"
        raise PlanrankError(f"{found}; train without --resume", file=str(file))
    return tensors, state


def digest(tensors: dict[str, np.ndarray], text: str) -> str:
    found = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].shape} {tensors[name].dtype}\n".encode())
        found.update(np.ascontiguousarray(tensors[name]).tobytes())
    return found.hexdigest()
