"""Learning to rank: plans as rankings, losses, examples, the training loop, and the choice of the best weights."""
