"""A body of JSON lines, which schemathesis doesn't know of itself."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return json.dumps(value).encode() + b"\n"


@schemathesis.deserializer("application/x-ndjson")
def line(ctx, response):
    return json.loads(response.content.splitlines()[0]) if response.content.strip() else None
