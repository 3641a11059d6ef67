"""The one pool of worker processes, and programs that never outlive whoever started them."""
