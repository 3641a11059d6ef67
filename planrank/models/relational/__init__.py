"""Networks whose vertices are objects: atoms are messages between them, however many more atoms there could be."""
