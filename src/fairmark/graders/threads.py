"""What the kinds that judge a conversation share: what they need of a row, and their prompts, which are text files."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.errors import GradingFailed, VariableMissing
from fairmark.graders.judging import JudgeGrader
from fairmark.text.handlebars import Handlebars, Own
from fairmark.text.messages import Fence
from fairmark.text.thread import QUESTIONS, Thread

OTHER_NAMES = {**JudgeGrader.other_names, "judge_model": "model"}

_PROMPTS = Path(__file__).with_name("prompts")


@cache
def prompt(name: str) -> Handlebars:
    """A prompt of ours, by the name of its file."""
    return Handlebars((_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n"))


def chat(
    system: Handlebars, user: Handlebars, values: Mapping[str, Any], fence: Fence | None = None
) -> list[dict[str, Any]]:
    """The messages to a judge. A template that comes out empty makes none."""
    around = None if fence is None else fence.around
    texts = {"system": system.render(values, around), "user": user.render(values, around)}
    messages: list[dict[str, Any]] = [{"role": role, "content": text} for role, text in texts.items() if text.strip()]
    if not messages:
        raise GradingFailed("both templates come out empty for this row: there is nothing to ask.")
    return messages if fence is None else [fence.notice(), *messages]


def own(value: Any) -> Any:
    """The value with all its texts marked as the grader's own."""
    match value:
        case str():
            return Own(value)
        case dict():
            return {key: own(inner) for key, inner in value.items()}
        case list() | tuple():
            return [own(inner) for inner in value]
        case _:
            return value


def completion_of(thread: Thread) -> str:
    """What is to be judged. Raises VariableMissing."""
    completion = thread.completion
    if completion is None:
        reason = f"its last turn is by {jsontext.quote(thread.turns[-1][0])}" if thread.turns else "it has no turns"
        raise VariableMissing(
            f"this row has no completion to judge: there is no sample, and {reason}. The last turn has to be the "
            "assistant's."
        )
    return completion


def question_of(thread: Thread) -> str:
    """What the user asked last. Raises VariableMissing."""
    question = thread.question
    if question is None:
        names = ", ".join(f"item.{name}" for name in QUESTIONS)
        raise VariableMissing(
            f"this row has no question: there is no turn by the user in item.messages, and none of {names}."
        )
    return question


def documents_of(thread: Thread) -> list[str]:
    """The retrieved documents: the turns by `document`, else the metadata's `documents`. Raises VariableMissing."""
    documents = [content for role, content in thread.turns if role == "document"]
    if documents:
        return documents
    listed = thread.metadata.get("documents")
    if isinstance(listed, (list, tuple)):
        for index, document in enumerate(listed):
            if not isinstance(document, str):
                shown = jsontext.describe(document)
                raise GradingFailed(f"metadata.documents[{index}]: found {shown}. It takes a string.")
        documents = list(listed)
    elif listed is not None:
        raise GradingFailed(f"metadata.documents: found {jsontext.describe(listed)}. It takes a list of strings.")
    if not documents:
        raise VariableMissing(
            'this row has no documents: there is no turn with the role "document", and no list of strings '
            "metadata.documents."
        )
    return documents
