"""Sources: list and watch a resource through a client or through any two callables."""
