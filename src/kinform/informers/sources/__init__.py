"""Where objects come from: any two callables, or a resource of a client; pages and frames out."""
