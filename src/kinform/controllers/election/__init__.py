"""Leader election on Leases: one of several programs works at a time."""
