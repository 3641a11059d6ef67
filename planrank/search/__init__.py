"""Forward search: the search itself, what guides it, solving a problem, plans."""
