"""The kind `greeting`: says hello to whomever the spec names."""

from stdworker import Condition, KindVersion, Outcome, ProviderConfig, ReactionRequest, Terminal, hookimpl

MANIFEST = {
    "kind": "greeting",
    "kind_version": 1,
    "description": "Says hello.",
    "spec_schema": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
    "default_config": {"word": "Hello"},
}


class Greeter:
    kind = KindVersion("greeting")

    async def work(self, request: ReactionRequest) -> Outcome:
        name = request.resource.spec["name"].strip()
        if not name:
            raise Terminal("there is nobody to greet", reason="NameMissing")
        word = (request.config() or {}).get("word", "Hello")
        return Outcome(status={"text": f"{word}, {name}!"}, conditions=[Condition("Ready", "True", "Greeted")])

    async def on_config(self, config: ProviderConfig) -> None:
        """Nothing to prepare: each request brings its config."""

    async def ready(self) -> bool:
        return True


@hookimpl
def stdworker_providers():
    return [Greeter()]


@hookimpl
def stdworker_kinds():
    return [MANIFEST]
