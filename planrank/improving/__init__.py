"""Self-improvement: a model searches problems a little beyond what it solves, and learns from what it finds."""
