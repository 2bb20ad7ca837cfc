"""Work queues: keys to process, each at most once at a time, with delays and priorities."""
