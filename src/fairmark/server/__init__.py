"""The server: OpenAI's API for graders, evals, runs and files. Thin doors: decode, call, encode."""
