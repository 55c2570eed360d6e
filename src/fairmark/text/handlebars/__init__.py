"""Handlebars: `{{#each turns}}{{{content}}}{{/each}}` -> text, for the prompts of judges.

A template is compiled once, when its grader is parsed. It reaches the keys of objects, the elements of lists and their
length, and nothing else: no attribute and no method of anything, and no helper but those listed in `compiling`. Values
are filled in as they are and never expanded again. Nor are they escaped for HTML, by two braces or by three: a prompt
is no web page, and a judge that reads &lt; judges another text than the one that was said.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fairmark.text.compiled import CompiledText
from fairmark.text.handlebars.compiling import Compiler
from fairmark.text.handlebars.rendering import Own, Rendering, Scope, run

__all__ = ["Handlebars", "Own"]


class Handlebars(CompiledText):
    """A compiled template. `source` is what the user wrote."""

    __slots__ = ("_body", "names")

    wanted = "It takes a string: a Handlebars template."

    def __init__(self, source: str) -> None:
        compiler = Compiler(source)
        self._body = compiler.compile()
        super().__init__(source)
        self.names: frozenset[str] = frozenset(compiler.names)
        """The variables that it uses, as far as that can be known: not those inside an object it steps into."""

    def render(self, values: Mapping[str, Any], around: Callable[[str], str] | None = None) -> str:
        """The text for these values, with something put around those that are texts, where `around` says what.

        Raises GradingFailed where a limit is reached.
        """
        state = Rendering(dict(values), around)
        run(self._body, Scope(state.root, None, None, {}), state)
        return "".join(state.out)
