"""Every vector of protocol/stdio/v1 gets the verdict that it states."""

import base64
import json

import pytest
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.errors import JsonError, ResponseError
from stdworker.framing.document import read_document
from stdworker.framing.messages import Answer, Broken, Hello, Log, Progress, Ready, Stray, read_line
from stdworker.framing.response import parse_response
from stdworker.model.json_text import check, loads

VERDICTS = {Answer: "answer", Stray: "stray", Log: "log", Progress: "progress", Ready: "ready", Hello: "hello"}


def vectors(name):
    found = json.loads(protocol_files.read(f"stdio/v1/vectors/{name}.json"))["vectors"]
    return [pytest.param(vector, id=vector["name"]) for vector in found]


def given(vector):
    return base64.b64decode(vector["base64"]) if "base64" in vector else vector["text"].encode("utf-8")


def schema(name):
    return Draft202012Validator(json.loads(protocol_files.read(f"stdio/v1/{name}.schema.json")))


@pytest.mark.parametrize("vector", vectors("values"))
def test_a_document_gets_its_verdict_wherever_it_stands(vector):
    document = given(vector)
    if vector["verdict"] == "ok":
        assert check(document) == document
        assert parse_response(b'{"status":' + document + b"}", depth_max=101).outcome.status == document.strip()
        return
    with pytest.raises(JsonError) as refused:
        check(document)
    assert refused.value.code == vector["verdict"]
    assert refused.value.path == vector.get("path", refused.value.path)
    if document:
        with pytest.raises(ResponseError, match="received: "):
            parse_response(b'{"status":' + document + b"}")


@pytest.mark.parametrize("vector", vectors("responses"))
def test_a_response_gets_its_verdict(vector):
    if vector["verdict"] == "ok":
        response = parse_response(given(vector))
        assert list(response.unknown) == vector.get("unknown", [])
        return
    with pytest.raises(ResponseError) as refused:
        parse_response(given(vector))

    assert refused.value.code == vector["verdict"]
    assert vector.get("path", "") in refused.value.message
    assert "received: " in refused.value.message


@pytest.mark.parametrize("vector", vectors("responses"))
def test_the_schema_and_the_reader_agree(vector):
    if vector["verdict"] not in ("ok", "bad_response"):
        return  # what JSON peers can't agree on, no schema can say

    assert schema("response").is_valid(loads(given(vector))) == (vector["verdict"] == "ok")


@pytest.mark.parametrize("vector", vectors("lines"))
def test_a_line_of_a_persistent_program_gets_its_verdict(vector):
    message = read_line(given(vector))

    if vector["verdict"] == "broken":
        assert isinstance(message, Broken)
        assert (message.id, message.error.code) == (vector["id"], vector["code"])
    elif vector["verdict"] == "nothing":
        assert message is None
    else:
        assert VERDICTS[type(message)] == vector["verdict"]
    if isinstance(message, Answer):
        assert message.id == vector["id"]


@pytest.mark.parametrize("vector", vectors("documents"))
def test_what_a_one_shot_program_printed_gets_its_verdict(vector):
    if vector["verdict"] == "ok":
        document = read_document(given(vector))
        assert document.response == (None if vector["response"] is None else vector["response"].encode())
        assert len(document.stray) == document.stray_lines == vector["stray"]
        return
    with pytest.raises(ResponseError) as refused:
        parse_response(read_document(given(vector)).response or b"{}")

    assert refused.value.code == vector["verdict"]


@pytest.mark.parametrize("name", ["request", "response"])
def test_the_schemas_are_legal(name):
    Draft202012Validator.check_schema(schema(name).schema)
