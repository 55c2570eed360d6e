"""Inside the sandbox: the process of the answer. It loads the code and is called; it never sees a test."""

import io
import sys
from typing import Any

from fairmark.graders.programs.wire import Peer, start


class AnswerPeer(Peer):
    """Handles are numbers of objects, or names of what the code defines."""

    def __init__(self) -> None:
        super().__init__(shares=True)
        self.code = ""
        self.names: dict[str, Any] = {}

    def find(self, handle: Any) -> Any:
        if isinstance(handle, str):
            if handle == "<script>":
                return self.script
            if handle not in self.names:
                raise NameError(f"the answer defines no {handle}")
            return self.names[handle]
        return super().find(handle)

    def load(self, code: str, runs: bool) -> None:
        self.code = code
        module = type(sys)("solution")
        sys.modules["solution"] = module
        self.names = module.__dict__
        if runs:
            exec(compile(code, "answer.py", "exec", dont_inherit=True), self.names)
        else:
            compile(code, "answer.py", "exec", dont_inherit=True)

    def script(self, given: str) -> str:
        """What the code prints as a program that reads this."""
        module = type(sys)("__main__")
        sys.modules["__main__"] = module
        taken, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
        said = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        told, sys.stdout = sys.stdout, said
        try:
            exec(compile(self.code, "answer.py", "exec", dont_inherit=True), module.__dict__)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        finally:
            sys.stdin, sys.stdout = taken, told
        return said.buffer.getvalue().decode("utf-8", "replace")


peer = AnswerPeer()


def talk() -> None:
    order = peer.hear()
    try:
        peer.load(order["code"], order["runs"])
    except BaseException as error:
        message = {"op": "broken", "why": f"{type(error).__name__}: {error}"[:2000]}
        peer.say(message)
        return
    message = {"op": "ready"}
    while True:
        message = peer.serve(peer.say(message))


start(peer, talk)


def grade(sample: Any, item: Any) -> int:
    return peer.turn(sample, item)
