"""Azure's grader classes by name and arguments: with these only the import line of a script has to change."""

from typing import Any, ClassVar

from fairmark.errors import InvalidGrader
from fairmark.evaluation.evaluators import config_of, read


class AzureOpenAIGrader:
    """Any grader. `model_config` and `credential` say where Azure grades; grading is done here, so they are ignored."""

    def __init__(self, *, grader_config: Any, model_config: Any = None, credential: Any = None, **ignored: Any) -> None:
        self._grader_config = config_of(grader_config)
        read(self._grader_config)  # a wrong grader is told where it is made


class _OfOneKind(AzureOpenAIGrader):
    """Takes the fields of its kind as keyword arguments; None is the same as not given, other arguments are ignored."""

    kind: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    takes: ClassVar[frozenset[str]]

    def __init_subclass__(cls, kind: str, needs: str, may_have: str = "") -> None:
        cls.kind = kind
        cls.needs = frozenset(needs.split())
        cls.takes = cls.needs.union(may_have.split())

    def __init__(self, **options: Any) -> None:
        missing = sorted(self.needs.difference(options))
        if missing:
            raise TypeError(f"{type(self).__name__}: missing arguments: {', '.join(missing)}.")
        fields = {name: value for name, value in options.items() if name in self.takes and value is not None}
        super().__init__(grader_config={"type": self.kind, **fields})
        threshold = fields.get("pass_threshold")
        low, high = fields.get("range", (0, 1))
        if self.kind in {"python", "score_model"} and threshold is not None and not low <= threshold <= high:
            raise InvalidGrader.at("$.pass_threshold", f"found {threshold}. It must lie between {low} and {high}.")


# fmt: off
class AzureOpenAIStringCheckGrader(
    _OfOneKind, kind="string_check", needs="input name operation reference"): ...
class AzureOpenAITextSimilarityGrader(
    _OfOneKind, kind="text_similarity", needs="evaluation_metric input pass_threshold reference name"): ...
class AzureOpenAILabelGrader(
    _OfOneKind, kind="label_model", needs="input labels model name passing_labels"): ...
class AzureOpenAIScoreModelGrader(
    _OfOneKind, kind="score_model", needs="input model name", may_have="range pass_threshold sampling_params"): ...
class AzureOpenAIPythonGrader(
    _OfOneKind, kind="python", needs="name pass_threshold source", may_have="image_tag"): ...
