"""Objects at rest, found by key and by index; and the small stores beside it."""
