"""Changes of the store in; calls of handlers out, each at its own pace."""
