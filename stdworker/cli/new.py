"""`stdworker new`: a folder to start a kind from: its program, kind file, README and test.

The templates are a working kind called `greeter`, and a new kind is a copy in which that word is another. What belongs
to it lies in up to four folders of `templates/`, of which a later one wins: any, MODE, LANGUAGE and LANGUAGE-MODE.
"""

from __future__ import annotations

import difflib
import json
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import click

from stdworker.model.kind import KIND, KIND_RULE
from stdworker.model.settings import WorkerSettings

PLACEHOLDER = "greeter"
README = "README.md"
NAMED = re.compile(rf"\b(test_)?{PLACEHOLDER}\b")
COMMENTED = re.compile(r"^(\S.*?) +# ", re.MULTILINE)  # a command of a README and what it is for
YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # no texts to all readers of YAML
DEFAULTS = WorkerSettings()
TAKEN = {pair.kind for pair in (*DEFAULTS.stdio_kinds, *DEFAULTS.stdio_composer_kinds)}
MODES = {"oneshot": "a process for each request", "stream": "one process for all requests"}


@dataclass(frozen=True, slots=True)
class Language:
    """What writing programs in it takes. `mode` is how its programs are run at best.

    A bash script starts a process for each of its commands anyway, and its exit status is its natural verdict; the
    others can answer many requests for the price of one start.
    """

    mode: str
    needs: tuple[str, ...]
    is_compiled: bool = False


LANGUAGES = {
    "bash": Language("oneshot", ("jq",)),
    "node": Language("stream", ("node",)),
    "python": Language("stream", ("python3",)),
    "go": Language("stream", ("go", "make"), is_compiled=True),
    "c": Language("stream", ("cc", "make"), is_compiled=True),
}


def known_language(context: click.Context, parameter: click.Parameter, name: str) -> str:
    if name in LANGUAGES:
        return name
    near = difflib.get_close_matches(name, LANGUAGES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(LANGUAGES)}"
    raise click.BadParameter(f"there is no template for {name!r}; {hint}")


def legal_kind(context: click.Context, parameter: click.Parameter, name: str) -> str:
    if not KIND.fullmatch(name):
        raise click.BadParameter(f"{name!r} is not a kind name ({KIND_RULE})")
    if name in TAKEN:
        raise click.BadParameter(f"every worker serves a kind {name!r} already; take another name")
    return name


@click.command()
@click.argument("language", metavar="bash|node|python|go|c", callback=known_language)
@click.argument("name", callback=legal_kind)
@click.option("--mode", type=click.Choice(list(MODES)), help="How the program is run. [bash: oneshot, others: stream]")
@click.option(
    "--into",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=".",
    metavar="DIR",
    help="Make the folder NAME in here. [the current one]",
)
def new(language: str, name: str, mode: str | None, into: Path) -> None:
    """Make a folder NAME with a kind to start from: its program, kind file, README and test.

    Nothing is overwritten. Exit status 1 when the folder is there already, or can't be written.
    """
    written = LANGUAGES[language]
    mode = mode or written.mode
    folder = into / name
    found = template(language, mode)
    require_free(name, found)
    made = renamed(found, name)
    write(folder, made)
    click.echo(f"{folder} is a kind in {language}, {MODES[mode]}: {', '.join(sorted(made))}")
    for missing in (tool for tool in written.needs if shutil.which(tool) is None):
        click.echo(f"{missing} is not on PATH, and the program needs it")
    click.echo("next:")
    for command in next_commands(folder, name, build=written.is_compiled):
        click.echo(f"  {command}")


def template(language: str, mode: str) -> dict[str, str]:
    """The text of each file of a kind called `greeter`."""
    root = files("stdworker.cli") / "templates"
    layers = [root / layer for layer in ("any", mode, language, f"{language}-{mode}")]
    found = [path for layer in layers if layer.is_dir() for path in layer.iterdir()]
    return {path.name: path.read_text("utf-8") for path in found if path.is_file()}  # installers add __pycache__


def require_free(name: str, found: Mapping[str, str]) -> None:
    """The program is called like the kind, so no other file may be. Case counts nowhere: to make, it doesn't always."""
    other = next((path for path in found if path.lower() == name and PLACEHOLDER not in path), None)
    if other is not None:
        raise click.BadParameter(f"{name!r} can't be the program, {other} is another file beside it", param_hint="NAME")


def renamed(made: Mapping[str, str], name: str) -> dict[str, str]:
    """The same for a kind of another name, in quotes where YAML would take it for a number or a truth value.

    The test is a Python module, whose name may not have a dot.
    """
    test = f"test_{name.replace('.', '-')}"
    is_text = name[0].isalpha() and name not in YAML_WORDS
    in_yaml = name if is_text else json.dumps(name)

    def filled(text: str, own: str) -> str:
        return NAMED.sub(lambda found: test if found[1] else own, text)

    done = {
        filled(path, name): filled(text, in_yaml if path.endswith(".yaml") else name) for path, text in made.items()
    }
    return {**done, README: aligned(done[README])}


def aligned(text: str) -> str:
    """The same with the comments behind its commands in one column, however long the name became."""
    width = max(len(command) for command in COMMENTED.findall(text))
    return COMMENTED.sub(lambda found: f"{found[1]:{width}}   # ", text)


def write(folder: Path, made: Mapping[str, str]) -> None:
    """All of the files or none; those with a `#!` line are executable. Raises ClickException."""
    try:
        folder.mkdir()
    except FileExistsError:
        raise click.ClickException(
            f"{folder} is there already, and nothing is overwritten: take another name, or another folder with --into"
        ) from None
    except OSError as error:
        raise click.ClickException(f"{folder} can't be made: {error.strerror}") from None
    for name, text in made.items():
        path = folder / name
        try:
            path.write_text(text, "utf-8")
            if text.startswith("#!"):
                readable = path.stat().st_mode & 0o444
                path.chmod(path.stat().st_mode | readable >> 2)  # whoever may read it may run it
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise click.ClickException(f"{path} can't be written: {error.strerror}") from None


def next_commands(folder: Path, name: str, *, build: bool) -> list[str]:
    commands = [f"cd {shlex.quote(str(folder))}"]
    if build:
        commands.append("make")
    return [
        *commands,
        f'stdworker call ./{name} --spec \'{{"name": "Ada"}}\'',
        f"stdworker check ./{name}",
        "stdworker dev .",
    ]
