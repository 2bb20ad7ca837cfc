"""The queue between a reflector and its store: all changes of a resource, in order."""
