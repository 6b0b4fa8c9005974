import pytest
from stdworker_plugin_greet import Greeter

from stdworker import Terminal
from stdworker.testing import run_provider


def test_it_greets_with_the_word_of_the_config():
    outcome = run_provider(Greeter(), spec={"name": "Ada"}, config={"word": "Good morning"})

    assert outcome.status.value() == {"text": "Good morning, Ada!"}


def test_without_a_config_it_says_hello():
    assert run_provider(Greeter(), spec={"name": "Ada"}).status.value() == {"text": "Hello, Ada!"}


def test_an_empty_name_is_terminal():
    with pytest.raises(Terminal, match="there is nobody to greet"):
        run_provider(Greeter(), spec={"name": " "})
