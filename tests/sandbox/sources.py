"""Sources of graders that several files run in the sandbox."""

GOOD = "def grade(sample, item):\n    return 0.5\n"

COUNTS = "n = 0\ndef grade(sample, item):\n    global n\n    n += 1\n    return n\n"

ENDLESS = "def grade(sample, item):\n    while item:\n        pass\n    return 0.5\n"


def spec(source: str) -> dict[str, str]:
    return {"type": "python", "name": "grader", "source": source}
