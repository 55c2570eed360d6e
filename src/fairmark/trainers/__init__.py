"""The same grader as the reward of a training run: one thin module for each trainer.

None of them grades, none imports its trainer, and each can be tested without it. What they share: `rows` (a trainer's
columns as rows), `reward` (what every reward function is), `gather` (single rows, graded together), `signal` (whether
there is anything to learn from).
"""
