#!/usr/bin/env python3
"""What greeter promises, shown without an engine and without a network."""

import json
import subprocess
import unittest
from pathlib import Path

SECONDS_MAX = 120


def stdworker(*arguments):
    command = ["stdworker", *arguments]
    folder = Path(__file__).resolve().parent
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)


def call(spec, *options):
    """The result of one task, as `stdworker call` tells it."""
    done = stdworker("call", "--output", "json", "--spec", json.dumps(spec), *options, "./greeter")
    if not done.stdout:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Promises(unittest.TestCase):
    def test_it_greets_whom_the_spec_names(self):
        greeted = call({"name": "Zoë 😀"})

        expected = {
            "status": {"text": "Hello, Zoë 😀!"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Greeted"}],
        }
        self.assertEqual((greeted["result"], greeted["outcome"]), ("success", expected))

    def test_a_spec_that_names_nobody_is_refused_for_good(self):
        for spec in ({}, {"name": " "}, {"name": 5}):
            with self.subTest(spec=spec):
                refused = call(spec)
                self.assertEqual((refused["result"], refused["error"]["reason"]), ("terminal", "NameMissing"))

    def test_a_reaction_that_it_does_not_know_is_refused_for_good(self):
        refused = call({"name": "Ada"}, "--reaction", "vanish")

        self.assertEqual((refused["result"], refused["error"]["reason"]), ("terminal", "UnknownReaction"))

    def test_a_teardown_may_run_again_and_asks_nothing_of_the_spec(self):
        for spec in ({"name": "Ada"}, {}):
            with self.subTest(spec=spec):
                gone = call(spec, "--reaction", "delete")
                self.assertEqual((gone["result"], gone["outcome"]), ("success", {}))

    def test_it_keeps_to_the_protocol(self):
        checked = stdworker("check", "./greeter")

        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
