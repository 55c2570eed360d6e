"""A grader that a tiny model can learn from within a few steps, and that fails for every fourth row."""

SOURCE = """
def grade(sample, item):
    if item["n"] % 4 == 0:
        raise ValueError("on purpose")
    return sample["output_text"].count("e") / 8
"""
GRADER = {
    "type": "multi",
    "name": "both",
    "graders": {
        "many": {"type": "python", "name": "many", "source": SOURCE},
        "any": {
            "type": "string_check",
            "name": "any",
            "input": "{{ sample.output_text }}",
            "reference": "e",
            "operation": "like",
        },
    },
    "calculate_output": "0.8 * many + 0.2 * any",
}
