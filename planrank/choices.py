"""Names users may choose from; apart from what they name, so that help need not load it."""

SEARCHES = ("astar", "gbfs", "wastar", "ucs", "bfs")
HEURISTICS = ("blind", "goalcount", "hmax", "hadd", "ff", "lmcut")
TIES = ("h_newest", "h_oldest", "newest", "oldest", "random")
