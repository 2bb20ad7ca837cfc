"""The reflector: keeps a store identical to the state on the server."""
