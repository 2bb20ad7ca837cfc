"""Controllers: reconcilers fed by informers, their manager, leader election and events."""
