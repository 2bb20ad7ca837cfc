"""Stores: thread-safe collections of objects, found by key and by index."""
