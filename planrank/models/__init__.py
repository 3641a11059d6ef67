"""Networks that give states their values: what they are tied to, their shape, their weights and files."""

from planrank.models.architecture import Architecture
from planrank.models.model import Model, Scorer
from planrank.models.signature import Signature, signature_of

__all__ = ["Architecture", "Model", "Scorer", "Signature", "signature_of"]
