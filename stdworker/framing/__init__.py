"""Bytes ⇄ messages of the stdio protocol. No I/O: what reads and writes is `process`, what decides is `bridge`."""
