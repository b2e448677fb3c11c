"""Where snapshots live: backends, layout, history, events and objects."""
