"""Models that give states their values: families, weights, files, and the library of those that are there."""
