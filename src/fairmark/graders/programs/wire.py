"""Inside the sandbox: two processes that call each other's functions, through a service that only passes messages on.

One has the tests, the other the answer. Values cross as plain data: what comes from the other side is made of builtins
anew, so that no object of the answer's can pretend to be equal to anything. What is no plain data stays where it is,
and the other side gets a Remote.
"""

import builtins
import json
import queue
import sys
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

SLICE = 60_000
MAX_DEPTH = 200
PLAIN = (type(None), bool, str)


class Gone(BaseException):
    """The other side has ended; no test may catch that by accident."""


class Remote:
    """An object of the other side."""

    def __init__(self, peer: "Peer", handle: Any, name: str) -> None:
        object.__setattr__(self, "_at", (peer, handle, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        peer, handle, _ = self._at
        return peer.call(handle, args, kwargs)

    def _ask(self, operation: str, *args: Any) -> Any:
        peer, handle, _ = self._at
        return peer.call(handle, args, {}, operation)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("getattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("setattr", name, value)

    def __len__(self) -> int:
        return int(self._ask("len"))

    def __getitem__(self, key: Any) -> Any:
        return self._ask("getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._ask("setitem", key, value)

    def __iter__(self) -> Any:
        each = self._ask("iter")
        while True:
            try:
                value = each._ask("next")
            except StopIteration:
                return
            yield value

    def __next__(self) -> Any:
        return self._ask("next")

    def __bool__(self) -> bool:
        return bool(self._ask("bool"))

    def __str__(self) -> str:
        return str(self._ask("str"))

    def __repr__(self) -> str:
        return f"<{self._at[2]} of the answer>"

    def __eq__(self, other: object) -> bool:
        """Only another object of the answer's can be equal: whether it is, nobody else can know."""
        return isinstance(other, Remote) and bool(self._ask("eq", other))

    def __hash__(self) -> int:
        return hash(str(self._at[1]))


OPERATIONS: dict[str, Any] = {
    "call": lambda target, *args, **kwargs: target(*args, **kwargs),
    "getattr": getattr,
    "setattr": setattr,
    "len": len,
    "getitem": lambda target, key: target[key],
    "setitem": lambda target, key, value: target.__setitem__(key, value),
    "iter": iter,
    "next": next,
    "bool": bool,
    "str": str,
    "eq": lambda target, other: target == other,
}


class Peer:
    """One side of the conversation. `shares`: whether any object may be handed over, or functions alone."""

    def __init__(self, shares: bool) -> None:
        self.shares = shares
        self.in_place = False
        self.inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.outbox: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.objects: list[Any] = []
        self.pieces: list[str] = []
        self.rest: list[str] = []

    # What the service calls, in the main thread: a message in, a message out, both in slices.

    def turn(self, piece: str | None, more: bool) -> int:
        """How many slices are left to be fetched; the next one is printed."""
        printed, sys.stdout = sys.stdout, NOWHERE
        sys.stderr = NOWHERE
        if piece is not None:
            self.pieces.append(piece)
            if more:
                return 0
            self.inbox.put("".join(self.pieces))
            self.pieces.clear()
            text = self.outbox.get()
            self.rest = [text[start : start + SLICE] for start in range(0, len(text), SLICE)]
        printed.write(self.rest.pop(0))
        return len(self.rest)

    # What the conversation does, in its own thread.

    def say(self, message: dict[str, Any]) -> dict[str, Any]:
        self.outbox.put(f"{message['op']}\n{json.dumps(message)}")
        return self.hear()

    def hear(self) -> dict[str, Any]:
        """The first line tells the service what it is about; the rest is for us."""
        message: dict[str, Any] = json.loads(self.inbox.get().partition("\n")[2])
        return message

    def call(self, handle: Any, args: Any, kwargs: Any, operation: str = "call") -> Any:
        """The value of a call at the other side; what it raises is raised here.

        Only where that was asked for, lists and dicts that it changes change here too: a function could make everything
        that it is given as empty as what it returns.
        """
        sent = {key: self.write(value) for key, value in kwargs.items()}
        message = {"op": operation, "at": handle, "args": [self.write(value) for value in args], "kwargs": sent}
        reply = self.say(message)
        while reply["op"] not in ("value", "raise", "gone"):  # it calls back meanwhile
            reply = self.say(self.serve(reply))
        if reply["op"] == "gone":
            raise Gone(reply["why"])
        if reply["op"] == "raise":
            raise self.raised(reply)
        for value, changed in zip(args, reply["changed"], strict=False):
            if changed is not None and self.in_place:
                replace(value, self.read(changed))
        return self.read(reply["value"])

    def serve(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply to a call from the other side."""
        try:
            target = self.find(message["at"])
            args = [self.read(value) for value in message["args"]]
            kwargs = {key: self.read(value) for key, value in message["kwargs"].items()}
            before = [json.dumps(self.write(value)) if isinstance(value, (list, dict, set)) else None for value in args]
            if message["op"] != "call" and not self.shares:
                raise TypeError("functions can be called, and nothing else")
            value = self.write(OPERATIONS[message["op"]](target, *args, **kwargs))
            after = [None if text is None else self.write(value) for text, value in zip(before, args, strict=True)]
            changed = [
                now if now is not None and json.dumps(now) != text else None
                for now, text in zip(after, before, strict=True)
            ]
            return {"op": "value", "value": value, "changed": changed}
        except Gone:
            raise
        except BaseException as error:
            names = [kind.__name__ for kind in type(error).__mro__]
            try:
                words = str(error)[:2000]
            except BaseException:
                words = ""
            return {"op": "raise", "names": names, "words": words}

    def find(self, handle: Any) -> Any:
        return self.objects[handle]

    def raised(self, reply: dict[str, Any]) -> BaseException:
        """An exception like the other side's: the nearest builtin one."""
        for name in reply["names"]:
            kind = getattr(builtins, name, None)
            if isinstance(kind, type) and issubclass(kind, Exception):
                try:
                    error = kind(reply["words"])
                except TypeError:
                    continue
                return error
        return RuntimeError(f"{reply['names'][0]}: {reply['words']}")

    def write(self, value: Any, depth: int = 0) -> Any:
        """Plain data as JSON; anything else as a handle."""
        if depth > MAX_DEPTH:
            raise ValueError("a value is nested too deeply to be handed over")
        kind = type(value)
        if kind in PLAIN:
            return value
        if isinstance(value, int):
            return {"i": hex(int.__int__(value))} if not -(2**53) < int.__int__(value) < 2**53 else int.__int__(value)
        if isinstance(value, float):
            return {"f": float.__repr__(value)}
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            base: Any = next(base for base in (list, tuple, set, frozenset) if isinstance(value, base))
            return {base.__name__: [self.write(inner, depth + 1) for inner in base.__iter__(value)]}
        if isinstance(value, dict):
            pairs = dict.items(value)
            return {"dict": [[self.write(key, depth + 1), self.write(inner, depth + 1)] for key, inner in pairs]}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": bytes(value).hex()}
        if isinstance(value, complex):
            return {"complex": [repr(value.real), repr(value.imag)]}
        if isinstance(value, Decimal):
            return {"decimal": str(value)}
        if isinstance(value, Fraction):
            return {"fraction": [hex(value.numerator), hex(value.denominator)]}
        if isinstance(value, Remote):
            return {"yours": value._at[1]}
        if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
            return self.write(value.item(), depth + 1)
        if not self.shares and not callable(value):
            raise TypeError(f"a {kind.__name__} cannot be handed to the answer: only plain data and functions can")
        self.objects.append(value)
        return {"mine": len(self.objects) - 1, "name": kind.__name__}

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((name, inner), *_) = value.items()
        match name:
            case "i":
                return int(inner, 16)
            case "f":
                return float(inner)
            case "list":
                return [self.read(part) for part in inner]
            case "tuple":
                return tuple(self.read(part) for part in inner)
            case "set":
                return {self.read(part) for part in inner}
            case "frozenset":
                return frozenset(self.read(part) for part in inner)
            case "dict":
                return {self.read(key): self.read(part) for key, part in inner}
            case "bytes":
                return bytes.fromhex(inner)
            case "complex":
                return complex(float(inner[0]), float(inner[1]))
            case "decimal":
                return Decimal(inner)
            case "fraction":
                return Fraction(int(inner[0], 16), int(inner[1], 16))
            case "yours":
                return self.find(inner)
            case "mine":
                return Remote(self, inner, str(value["name"]))
        raise ValueError(f"unknown value {name}")


def replace(value: Any, changed: Any) -> None:
    if isinstance(value, list):
        value[:] = changed
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(changed)


class Nowhere:
    """Where prints go."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


NOWHERE = Nowhere()


def start(peer: Peer, talk: Any) -> None:
    sys.setrecursionlimit(5000)
    threading.stack_size(64 * 1024 * 1024)
    threading.Thread(target=talk, daemon=True).start()
