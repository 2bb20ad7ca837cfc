"""Everything that happens to the objects of a resource, in the order it happened."""
