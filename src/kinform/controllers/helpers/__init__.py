"""Helpers for reconcilers: owners, finalizers, conditions, create-or-update, waiting."""
