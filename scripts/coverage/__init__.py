"""Which lines of Fairmark a command runs, at a tenth of what tracing costs.

    python -m scripts.coverage COMMAND…

Python 3.11 can only trace every line of everything, which takes 60 % of processor time more; coverage.py is quick from
3.12 on. Here the modules of Fairmark note their lines by themselves (`probes`), in every process of this environment
while the command runs: those that are forked, those that start cold, and those that are killed, because what they note
is in memory that they share with a file. At the end the lines are written as coverage.py's own data, so that what is a
line, what is left out and what is asked for are its business (`coverage report`, `coverage html`).
"""
