"""Pages to look at: a file each, with all that it needs inside."""
