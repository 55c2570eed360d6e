"""The other end of `local`: a process that runs one model, until its pipe ends. It knows nothing of the rest of us.

The first line of stdin says what to run; the one line on stdout says where it answers, or why it does not.
"""

import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing printed by accident may come before the answer
    # Before the model is read: that takes long, and the caller may be gone before it ends.
    watch = threading.Thread(target=_end_with_the_caller, daemon=True)
    watch.start()
    try:
        server = serve(order)
        answer = {"address": server.listening_address}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}".rstrip(".")}
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()
    if "error" not in answer:
        watch.join()


def _end_with_the_caller() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def serve(order: dict[str, Any]) -> Any:
    """A running server. It listens on a free port of 127.0.0.1."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["model"]
    params.model_alias = {order["name"]}
    params.api_keys = [order["key"]]
    params.n_parallel = order["at_once"]
    params.n_ctx = order["context_tokens"] * order["at_once"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    # What was asked before may change the last bits of a prompt that is taken from the cache, and so the answer.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.enable_reasoning = 0  # a judge that thinks aloud takes minutes here; a request may ask for it
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = 1  # errors
    if order["embeds"]:
        params.embedding = True
        params.n_batch = params.n_ubatch = min(2048, params.n_ctx)  # a text is read as a whole
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
