"""Dispatch: delivers changes of the store to handlers, each at its own pace."""
