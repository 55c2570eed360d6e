"""A failure becomes data here and nowhere else. Whoever catches whatever may come asks here what to make of it.

On a row it becomes the row's grade, elsewhere words. How an error answers a request is told by `refusals`.
"""

from fairmark.errors import FairmarkError, GradingFailed, NotGraded
from fairmark.result import Grade


def as_grade(error: Exception) -> Grade:
    """The grade of a row on which this was raised: a failure, or left out on purpose."""
    return Grade(0.0, skipped=str(error)) if isinstance(error, NotGraded) else Grade.failed(as_failure(error))


def as_failure(error: Exception) -> GradingFailed:
    """What a row is told that this keeps from being graded. What nobody has foreseen goes to the log too."""
    if isinstance(error, GradingFailed):
        return error
    if isinstance(error, FairmarkError):  # wrong settings, say: told on every row they keep from being graded
        return GradingFailed(str(error))
    if isinstance(error, RecursionError):
        return GradingFailed("the row is nested too deeply.")
    if isinstance(error, MemoryError):
        return GradingFailed("the row needs more memory than there is.")
    import logging  # nobody should need it

    logging.getLogger("fairmark").error("a grader broke on a row; please report this", exc_info=error)
    return GradingFailed(f"internal error: {in_words(error)}")


def in_words(error: BaseException) -> str:
    """An exception that is not ours: its message alone, such as 'price' of a KeyError, would say too little."""
    return f"{type(error).__name__}: {error}"
