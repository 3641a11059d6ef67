"""Many runs of searches on many problems, written down as they come, and tables of them."""
