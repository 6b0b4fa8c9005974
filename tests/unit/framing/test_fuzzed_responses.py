"""Any bytes as a response: an outcome whose values are the bytes that were sent, or a refusal in words."""

import json

from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.errors import JsonError, ResponseError
from stdworker.framing.document import read_document
from stdworker.framing.response import FIELDS, parse_response
from stdworker.model.json_text import RawJson, check, members

SCHEMA = Draft202012Validator(json.loads(protocol_files.read("stdio/v1/response.schema.json")))

# Values as their text, so that every spelling is there: no library would write most of these.
NUMBERS = ["0", "-0", "1.0", "1e2", "1E+2", "9007199254740993", "18446744073709551616", "1" * 30, "0.1e-7", "1e308"]
STRINGS = [r"\u2028", "\u2028\x85", r"\ud83d\ude00", "\U0001f600", r"\/", r"\u0000", "", "a" * 70, "é", r"\"{[", "/~"]
BROKEN = [
    "NaN",
    "-Infinity",
    "1e999",
    "1" * 1_001,
    r'"\ud800"',
    "01",
    "+1",
    "tru",
    '"\t"',
    "'a'",
    "[1,]",
    '{"a":1,"a":2}',
]

numbers = st.sampled_from(NUMBERS)
strings = st.sampled_from(STRINGS).map('"{}"'.format)
scalars = numbers | strings | st.sampled_from(["true", "false", "null"])
blanks = st.sampled_from(["", "", "", " ", "\n", "\r\n\t"])


def arrays(items):
    return st.builds("[{0}{1}{0}]".format, blanks, st.lists(items, max_size=3).map(",".join))


def objects(names, values):
    pairs = st.lists(st.tuples(names, values), max_size=3, unique_by=lambda pair: json.loads(pair[0]))
    return st.builds(lambda gap, found: "{" + ",".join(f"{gap}{k}{gap}:{v}" for k, v in found) + "}", blanks, pairs)


documents = st.recursive(scalars, lambda inner: arrays(inner) | objects(strings, inner), max_leaves=8)


def fixed(**parts):
    """An object with these members, each written in order, each there or not."""

    def written(found):
        return "{" + ",".join(f'"{name}":{text}' for name, text in found.items()) + "}"

    return st.fixed_dictionaries({}, optional=parts).map(written)


def text(*choices):
    return st.sampled_from(choices).map(json.dumps)


ref = fixed(kind=text("net", "vm"), name=text("n", "N.1"))
condition = fixed(type=text("Ready"), status=text("True", "False", "Unknown"), reason=strings, message=strings)
child = fixed(kind=text("net"), kind_version=st.sampled_from(["1", "32767"]), name=text("n"), spec=documents)
flow = fixed(dependent_field=text("/a", ""), source_field=text("/b~0/c~1"))
edge = fixed(**{"from": ref, "to": ref, "values": arrays(flow)})
error = fixed(
    message=strings, terminal=text(True, False), reason=strings, retry_after_seconds=st.sampled_from(["0", "1.5"])
)
responses = fixed(
    id=text("7"),
    status=documents,
    conditions=arrays(condition),
    children=arrays(child),
    edges=arrays(edge),
    configs=arrays(fixed(name=text("c"), kind=text("net"), kind_version=st.just("1"), spec=documents)),
    output=documents,
    error=error,
    describe=objects(strings, documents),
    other=documents,
)


@st.composite
def mutated(draw):
    """A valid response, or one with a few bytes cut out, doubled, replaced, or something broken put in."""
    found = draw(responses).encode()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(found)))
        until = draw(st.integers(at, min(len(found), at + 12)))
        put = draw(st.sampled_from([b"", found[at:until] * 2, b"\xff", b"\0", b'"', b"{", b"]", b"\xed\xa0\x80"]))
        broken = draw(st.sampled_from(BROKEN)).encode()
        found = found[:at] + draw(st.sampled_from([put, put, broken])) + found[until:]
    return found


def said(refused):
    assert refused.message
    assert refused.code
    assert len(refused.message) < 4_000


def read(document):
    """The response, or None when it is refused; any other end is a failure of the test."""
    try:
        return parse_response(document)
    except ResponseError as refused:
        return said(refused)


@given(mutated())
def test_what_is_accepted_is_json_that_every_peer_reads_and_arrives_byte_by_byte(document):
    response = read(document)
    assume(response is not None)

    json.loads(document)
    parts = members(document)
    for name in ("status", "output"):
        sent = parts.get(name, b"null")
        assert getattr(response.outcome, name) == (None if sent == b"null" else RawJson(sent))
        assert name not in parts or sent in document
    assert set(response.unknown) == set(parts) - FIELDS
    specs = [child.spec for child in response.outcome.children] + [config.spec for config in response.outcome.configs]
    assert all(spec is None or spec in document for spec in specs)


@given(mutated())
def test_the_reader_accepts_exactly_what_is_exact_json_and_keeps_the_schema(document):
    try:
        check(document)
        legal = SCHEMA.is_valid(json.loads(document))
    except JsonError:
        legal = False

    assert (read(document) is not None) == legal


@given(st.lists(mutated() | st.sampled_from([b"noise", b"", b'{"log":"x"}', b"\xff", b"{", b"}"]), max_size=4))
def test_whatever_a_program_printed_is_one_response_or_a_refusal(printed):
    try:
        found = read_document(b"\n".join(printed))
    except ResponseError as refused:
        return said(refused)
    if found.response is not None:
        assert found.response in b"\n".join(printed)
        read(found.response)
    return None


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_words_or_accepted(content):
    read(content)
