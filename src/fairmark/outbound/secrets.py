"""Secrets in what people read. Servers like to repeat what they were sent, and an error or a log must not hold a key.

Answers are data and stay as they are: a model may say any word, and one that happens to be a key is still its word.
"""

from collections.abc import Iterable

SHORTEST = 16
"""What is shorter guards nothing (`EMPTY`, `none`, `ollama`), and may stand anywhere in a message."""


def hidden(text: str, secrets: Iterable[str]) -> str:
    """A message to people without the secrets in it."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        if len(secret) >= SHORTEST:
            text = text.replace(secret, "***")
    return text
