"""Protobuf ⇄ model, and channels to a broker. The only package below the worker that knows gRPC."""
