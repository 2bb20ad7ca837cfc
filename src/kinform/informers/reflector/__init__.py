"""A source in; a store that has what the server has, and keeps having it, out."""
