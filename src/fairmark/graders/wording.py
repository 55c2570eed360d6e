"""What people call the fields of graders, and what each is for: in the words of the forms and of the schemas.

A field that is not here, as in kinds of other packages, has its own name and the description that its spec gives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairmark.graders.formula import FUNCTIONS

Widget = Literal[
    "text", "paragraph", "template", "handlebars", "formula", "python", "json",
    "number", "whole", "range", "choice", "check", "lines", "pairs", "messages", "examples",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one field, and how a form asks for it where its type does not tell."""

    label: str
    help: str = ""
    widget: Widget | None = None
    choices: Mapping[str, str] | None = None
    when: str = ""
    is_rare: bool = False

    @property
    def described(self) -> str:
        """The help with what may be chosen, in one text; the label where there is neither."""
        choices = "; ".join(f"{value}: {words}" for value, words in (self.choices or {}).items())
        return " ".join(filter(None, (self.help, choices and f"{choices}."))) or f"{self.label}."


_INPUT = "The text under test. {{ sample.output_text }} is what the model answered."
_REFERENCE = "What it is compared with. {{ item.answer }} is the field answer of the row."
_HANDLEBARS = "Handlebars. Without it the judge gets a prompt of ours. {{completion}} is the reply."
# By field, or by kind and field where a kind says it otherwise.
WORDS: dict[str, Words] = {
    "name": Words("Name", "What it is called in results; its type without it."),
    "description": Words("Description", "For people; it changes nothing."),
    "sampling_params": Words("Sampling", "How the judge is sampled: temperature, top_p, seed and others."),
    "input": Words("Input", _INPUT),
    "reference": Words("Reference", _REFERENCE),
    "operation": Words(
        "Operation",
        choices={"eq": "equals", "ne": "does not equal", "like": "contains", "ilike": "contains, whatever the case"},
    ),
    "evaluation_metric": Words(
        "Metric",
        "How alike the two texts are, from 0 to 1.",
        choices={
            "fuzzy_match": "Fuzzy match (letters)",
            "bleu": "BLEU",
            "gleu": "GLEU",
            "meteor": "METEOR",
            "cosine": "Cosine of embeddings",
            **{f"rouge_{n}": f"ROUGE-{n}" for n in (1, 2, 3, 4, 5)},
            "rouge_l": "ROUGE-L",
        },
    ),
    "embedding_model": Words("Embedding model", "Which model makes the vectors.", when="evaluation_metric=cosine"),
    "pass_threshold": Words("Pass threshold", "The least reward that passes."),
    "model": Words("Judge model", "A model that this server knows, by its name or an alias."),
    "score_model.input": Words(
        "Prompt", "What the judge is asked about each row. {{ item.… }} and {{ sample.… }} are filled in."
    ),
    "label_model.input": Words(
        "Prompt", "What the judge is asked about each row. {{ item.… }} and {{ sample.… }} are filled in."
    ),
    "range": Words("Range", "The lowest and the highest score. A number outside is taken as the nearest inside."),
    "labels": Words("Labels", "What the judge may choose from, one on each line."),
    "passing_labels": Words("Passing labels", "Which of them earn the reward 1, one on each line."),
    "criteria": Words(
        "Criterion",
        "What makes a reply pass, in plain words. One thing that can be seen in the reply judges best.",
        widget="paragraph",
    ),
    "examples": Words(
        "Examples",
        "Replies that pass and replies that fail, with the reason. A few of each make a judge more reliable.",
        widget="examples",
    ),
    "system_template": Words("System prompt", _HANDLEBARS, is_rare=True),
    "user_template": Words("User prompt", _HANDLEBARS, is_rare=True),
    "template_variables": Words("Template variables", "More variables for your own prompts.", is_rare=True),
    "guard": Words(
        "Guard against injection",
        "Puts a fence around what a row brings in, and tells the judge not to follow instructions in it.",
        is_rare=True,
    ),
    "n": Words("Questions per judge", "How many times each judge is asked about a row, 1 to 100.", is_rare=True),
    "panel": Words("More judges", "Models that are asked as well, one on each line.", is_rare=True),
    "combine": Words("Combine by", "How several answers become one reward.", is_rare=True),
    "logprobs": Words(
        "Token probabilities",
        'true takes the expectation over them as the reward; "letters" does so by letters that stand for labels.',
        is_rare=True,
    ),
    "preference.criteria": Words("Criterion", "What makes an answer the better one.", widget="paragraph"),
    "preference.a": Words("First answer", "The reward is how often this one wins."),
    "preference.b": Words("Second answer"),
    "most_rivals": Words("Most rivals", "How many others each answer of a group meets, an even number.", is_rare=True),
    "preference.question": Words("Question", "What both of them answer."),
    "preference.swap": Words("In both orders", "Judges like what stands first: ask twice, with the answers exchanged."),
    "source": Words("Source", widget="python"),
    "python.source": Words(
        "Source", "def grade(sample, item) returns the reward. It runs in the sandbox, without a network.", "python"
    ),
    "function.source": Words(
        "Source",
        "async def grade(thread) returns the reward. It runs in the sandbox, with the standard library alone.",
        "python",
    ),
    "image_tag": Words("Image tag", "Kept for OpenAI's sake: the sandbox has one set of packages.", is_rare=True),
    "url": Words("Address", "Where the reward server is, such as https://rewards.example.com:8100."),
    "headers": Words("Headers", "A secret is written ${FAIRMARK_SECRET_NAME}; the server's environment has its value."),
    "timeout_s": Words("Timeout", "Seconds for one request.", is_rare=True),
    "math_equal.timeout_s": Words("Timeout", "Seconds for one row.", is_rare=True),
    "math_equal.tolerance": Words("Tolerance", "How far off decimals may be, as a part of the result.", is_rare=True),
    "code_tests.timeout_s": Words("Timeout", "Seconds for each test.", is_rare=True),
    "batch_size": Words("Batch size", "How many rows go into one request, 1 to 256.", is_rare=True),
    "graders": Words(
        "Graders",
        'Each under a key, which is its name in the formula. {"type": "registered", "key": "…"} uses one of this list.',
    ),
    "calculate_output": Words(
        "Formula",
        f"The reward, out of the graders' rewards by their keys. It knows + - * / ^ ( ) and {', '.join(FUNCTIONS)}.",
    ),
}
WORDS |= {
    "regex.pattern": Words(
        "Pattern", "A regular expression, as Python has them. What a row fills in stands for itself."
    ),
    "regex.match": Words("Match", choices={"search": "found anywhere", "full": "the whole text"}),
    "regex.reference": Words("Reference", "What the pattern captures has to be this text.", is_rare=True),
    "flags": Words("Flags", "ignore_case, multiline, dot_all or verbose, one on each line.", is_rare=True),
    "negate": Words("Must not match", is_rare=True),
    "group": Words("Group", "Its number, or its name in quotes, where there is a reference.", is_rare=True),
    "occurrence": Words("Occurrence", "Which match is compared with the reference.", is_rare=True),
    "tolerance": Words("Tolerance", "How far off a number may be."),
    "relative_tolerance": Words("Relative tolerance", "The same as a part of the expected number: 0.01 is 1 %."),
    "take": Words(
        "Which number", choices={"last": "the last one", "first": "the first one", "only": "the text is one number"}
    ),
    "percent": Words("Percent", choices={"fraction": "50 % is 0.5", "ignore": "50 % is 50"}, is_rare=True),
    "decimal_comma": Words("Decimal comma", "The input writes 1.234,5.", is_rare=True),
    "json_match.reference": Words("Expected JSON", "Such as {{ item.expected }}."),
    "json_schema": Words("Schema", "A JSON Schema that the answer has to fit.", widget="json", is_rare=True),
    "fields": Words(
        "Rules for places", 'Such as {"total": {"weight": 2}, "lines": {"any_order": true}}.', is_rare=True
    ),
    "ignore_case": Words("Ignore case"),
    "any_order": Words("Lists in any order"),
    "extra_fields": Words("Fields too many", choices={"penalise": "count as wrong", "ignore": "do not count"}),
    "extract": Words("Look into fenced blocks", is_rare=True),
    "tool_calls.input": Words("Calls", "The calls that were made.", is_rare=True),
    "tool_calls.reference": Words(
        "Expected calls", 'Such as {{ item.calls }}, or [{"name": "search", "arguments": {"q": "x"}}].'
    ),
    "order": Words("Order", choices={"any": "does not count", "same": "has to be the same"}),
    "extra_calls": Words("Calls too many", choices={"penalise": "count as wrong", "ignore": "do not count"}),
    "arguments": Words("Arguments", choices={"match": "are compared", "ignore": "do not count"}),
    "name_weight": Words(
        "Weight of the name", "What the right tool earns whatever its arguments, 0 to 1.", is_rare=True
    ),
    "partial": Words("Partial credit", is_rare=True),
    "code_tests.input": Words("Answer", "The text whose last block of Python is the code."),
    "tests": Words(
        "Tests", "Python with asserts, check(candidate) or unittest, or a list of tests. They run in the sandbox."
    ),
    "entry_point": Words("Entry point", "The function that check(candidate) is about, and that a block must define."),
    "setup": Words("Setup", "Python that stands before the answer and before the tests.", is_rare=True),
    "in_place": Words("Changes in place", "Tests see what the code does to the lists it is given.", is_rare=True),
    "cascade.graders": Words(
        "Graders", "A list, the cheapest first; the next one is asked where the one before is unsure, or fails."
    ),
    "unsure": Words("Unsure", "Rewards from the first to the second number, both included, are passed on."),
}


def words_for(kind: str, field: str) -> Words | None:
    """The words of a field: the kind's own, else those that all kinds share."""
    return WORDS.get(f"{kind}.{field}") or WORDS.get(field)
