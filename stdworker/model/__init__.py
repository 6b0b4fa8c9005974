"""The nouns: plain values without I/O that every other package speaks in."""
