"""The event recorder: writes Kubernetes events about objects, without blocking."""
