"""Bodies that don't fit their shape are answered with the place and what to do."""

import pytest

from stdworker.engine.api import bodies
from stdworker.engine.api.problems import problem_of
from stdworker.engine.api.shapes.resources import ResourceBody
from stdworker.errors import Invalid, JsonError
from stdworker.model.json_text import check


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('{"kind":"a","kind_version":1,"name":"x","specs":{}}', "/specs: unknown key 'specs' (did you mean 'spec'?)"),
        ('{"kind":"a","name":"x"}', "/kind_version: it is required"),
        ('{"kind":"a","kind_version":0,"name":"x"}', "/kind_version: expected integer >= 1"),
        ('{"kind":"a","kind_version":1.0,"name":"x"}', "/kind_version: expected integer, got number"),
        ('{"kind":"a","kind_version":1,"name":"x","labels":{"a.b":1}}', "/labels: expected string, got integer"),
        ('{"kind":"a","kind_version":1,"name":"x","type":"pod"}', "/type: invalid enum value 'pod'"),
        ("[]", "the body: expected object, got array"),
    ],
)
def test_a_body_that_does_not_fit_says_where_and_why(body, complaint):
    with pytest.raises(Invalid) as caught:
        bodies.decode(body.encode(), ResourceBody)
    assert str(caught.value) == complaint


def test_a_schema_address_is_allowed_at_the_top():
    body = b'{"$schema":"https://example.org/s","kind":"a","kind_version":1,"name":"x"}'
    assert bodies.decode(body, ResourceBody).name == "x"


def test_absent_labels_and_null_labels_are_told_apart():
    absent = bodies.decode(b'{"kind":"a","kind_version":1,"name":"x"}', ResourceBody)
    cleared = bodies.decode(b'{"kind":"a","kind_version":1,"name":"x","labels":null}', ResourceBody)
    assert absent.labels is not None
    assert cleared.labels is None


def test_a_spec_is_a_slice_of_the_body():
    body = b'{"kind":"a","kind_version":1,"name":"x","spec":{"b": 1.0,"a":18446744073709551617}}'
    assert bytes(bodies.decode(body, ResourceBody).spec) == b'{"b": 1.0,"a":18446744073709551617}'


def test_a_body_nested_beyond_all_measure_is_refused_with_the_place():
    body = b'{"kind":"a","spec":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    with pytest.raises(JsonError) as caught:
        check(body)
    told = problem_of(caught.value, "/api/v1/resources", body)
    assert told.status == 400
    assert told.errors[0].location.startswith("body/spec/0/0")
