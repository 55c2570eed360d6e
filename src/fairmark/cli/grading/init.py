"""fairmark init: a small eval that works, to begin with."""

import shlex
import sys
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from fairmark import jsontext, schema
from fairmark.errors import InvalidData

TEMPLATES = {
    "qa": "Questions with known answers",
    "classification": "Texts and the label of each",
    "json": "JSON out of texts, field by field",
    "code": "Code that has to pass tests",
    "rag": "Answers out of retrieved documents",
    "reward": "A reward for reinforcement learning",
}
"""By name, which is also the folder of its files: what each is for."""
SETTINGS = "fairmark.toml"
SCHEMA = "grader.schema.json"
ROWS = "rows.jsonl"


def command(
    folder: Annotated[str, typer.Argument(metavar="[FOLDER]", help="Where the files go.")] = ".",
    template: Annotated[
        str | None, typer.Option(metavar="NAME", help="The job to begin with; --list tells which there are.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the templates, and write nothing.")] = False,
) -> None:
    """Write a small eval that works: graders, rows, settings, and how to run it.

    On a terminal it asks which job you have; elsewhere --template says so. A file that is there is never written over.

    [bold]Example[/bold]

      fairmark init my-eval --template qa

    Exit status: 0 written, 2 no such template, or a file is in the way.
    """
    if listing:
        for name, words in TEMPLATES.items():
            typer.echo(f"{name:15} {words}")
        return
    name = _chosen(template)
    files = contents(name)
    _write(Path(folder), files)
    for path in files:
        typer.echo(Path(folder) / path)
    typer.echo(f"\nTry it:{f' cd {shlex.quote(folder)} &&' if folder != '.' else ''} {command_line(name)}")


def _chosen(template: str | None) -> str:
    if template is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise InvalidData(f"--template: missing. Use one of: {', '.join(TEMPLATES)}.")
        for number, (name, words) in enumerate(TEMPLATES.items(), 1):
            typer.echo(f"{number}  {name:15} {words}")
        template = typer.prompt("Which job do you have?", default="1")
        if template.isascii() and template.isdecimal() and 1 <= int(template) <= len(TEMPLATES):
            template = list(TEMPLATES)[int(template) - 1]
    if template not in TEMPLATES:
        near = jsontext.nearest(template, TEMPLATES)
        raise InvalidData(f"--template: found {jsontext.quote(template)}. Use one of: {', '.join(TEMPLATES)}.{near}")
    return template


def contents(template: str) -> dict[str, str]:
    """The files of a template, by their paths."""
    folder = resources.files("fairmark.cli.grading") / "templates"
    files = dict(_read(folder / template, ""))
    files[SETTINGS] = (folder / SETTINGS).read_text("utf-8")
    files[SCHEMA] = jsontext.encode_pretty(schema.published()) + "\n"
    files["README.md"] = _readme(template, files)
    return files


def _read(folder: Traversable, prefix: str) -> list[tuple[str, str]]:
    files = []
    for entry in sorted(folder.iterdir(), key=lambda entry: (entry.is_dir(), entry.name)):
        path = f"{prefix}{entry.name}"
        files += _read(entry, f"{path}/") if entry.is_dir() else [(path, entry.read_text("utf-8"))]
    return files


def command_line(template: str) -> str:
    """What grades the rows, from the folder of the files."""
    graders = sorted(path for path, _ in _read(resources.files("fairmark.cli.grading") / "templates" / template, ""))
    named = " ".join(f"--grader {path}" for path in graders if path.startswith("graders/"))
    return f"fairmark eval {ROWS} {named}"


def _readme(template: str, files: dict[str, str]) -> str:
    judges = [path for path in files if path.startswith("judges/")]
    more = ""
    if template == "reward":
        more = (
            "\nIs it fit to train with? Rows with the same item are several answers to one prompt.\n\n"
            f"    fairmark reward check graders/reward.json {ROWS} --trainer trl\n"
        )
    return (
        f"# {TEMPLATES[template]}\n\n"
        f"    {command_line(template)}\n\n"
        f"- `{ROWS}`: a row a line. `item` is what you know, `sample` what a model answered: put in your own.\n"
        "- `graders/`: they need no model. An editor completes and checks them by `grader.schema.json`, which\n"
        f"  `fairmark schema > {SCHEMA}` writes anew.\n"
        f"- `judges/`: the same job by a judge model: {', '.join(Path(path).stem for path in judges)}. Set\n"
        "  OPENAI_API_KEY, or name a model in `fairmark.toml`, then add `--grader` for them.\n"
        f"- `{SETTINGS}`: settings; `fairmark config show` lists them all.\n"
        f"{more}\n"
        "`-o results.jsonl` keeps every grade, `--fail-under 0.8` makes it a check for CI.\n"
    )


def _write(folder: Path, files: dict[str, str]) -> None:
    """All of them, or none. Raises InvalidData."""
    there = [path for path in files if (folder / path).exists() or (folder / path).is_symlink()]
    if there:
        more = f" and {len(there) - 1} more of its files" if len(there) > 1 else ""
        raise InvalidData(f"{folder / there[0]}: it is there already{more}. Name another folder; nothing was written.")
    for path, content in files.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                file.write(content)
        except OSError as error:
            raise InvalidData.unusable(str(target), error) from None
