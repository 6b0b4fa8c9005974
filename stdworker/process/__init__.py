"""Operating-system processes: from a command to a running group, its pipes, its end and the reason for it."""
