"""AdaBelief (Zhuang et al. 2020): Adam whose second moment is that of the gradient's surprise, not of the gradient."""

from __future__ import annotations

import torch

MEAN_DECAY = 0.9
VARIANCE_DECAY = 0.999
EPSILON = 1e-16  # as in the authors' implementation; its root is what steps see


class AdaBelief:
    """For one parameter, with bias correction and decoupled weight decay. Keeps `mean`, `variance` and `count`."""

    def __init__(self, parameter: torch.nn.Parameter, learning_rate: float = 1e-3, weight_decay: float = 0.0):
        self.parameter = parameter
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.mean = torch.zeros_like(parameter.data)
        self.variance = torch.zeros_like(parameter.data)
        self.count = 0

    @torch.no_grad()
    def step(self) -> None:
        gradient = self.parameter.grad
        self.count += 1
        if self.weight_decay:
            self.parameter.mul_(1 - self.learning_rate * self.weight_decay)
        self.mean.lerp_(gradient, 1 - MEAN_DECAY)
        surprise = gradient - self.mean
        self.variance.mul_(VARIANCE_DECAY).addcmul_(surprise, surprise, value=1 - VARIANCE_DECAY).add_(EPSILON)
        scale = (self.variance / (1 - VARIANCE_DECAY**self.count)).sqrt_().add_(EPSILON)
        self.parameter.addcdiv_(self.mean, scale, value=-self.learning_rate / (1 - MEAN_DECAY**self.count))
