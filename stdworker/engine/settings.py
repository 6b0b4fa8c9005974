"""Settings of `converge serve`."""
