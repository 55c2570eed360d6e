"""One of several processes of a server: `python -m fairmark.server.member LINE`, started by `supervisor` alone."""

import asyncio
import os
import signal
import socket
import sys
from dataclasses import replace

from fairmark.errors import FairmarkError
from fairmark.server.serve import run_loop, serve_alone
from fairmark.serving import log
from fairmark.serving.process import bind
from fairmark.serving.siblings import Siblings
from fairmark.settings import settings
from fairmark.work import board


async def main(line: socket.socket) -> int:
    siblings = Siblings()
    order = await siblings.connect(line)
    siblings.number, siblings.count = order["number"], order["count"]
    log.set_up(order["level"], process=siblings.number)
    board.share(board.Board(order["board"], siblings.count, siblings.number))
    told = {name: order[name] for name in ("db", "engine", "ray_address", "ray_actors")}
    configuration = replace(settings(), **told)
    try:
        sockets = bind(order["host"], order["port"], shared=True)
    except FairmarkError as error:
        siblings.say(refusal=str(error))
        return 2
    listening = asyncio.create_task(siblings.listen())
    # Without the one that started us nobody could end us, or begin us anew.
    listening.add_done_callback(lambda _: os.kill(os.getpid(), signal.SIGTERM))
    try:
        await serve_alone(sockets, configuration, lambda: siblings.say(ready=True), siblings, order["again"])
    except FairmarkError as error:
        siblings.say(refusal=str(error))
        return 2
    finally:
        listening.cancel()
        for listener in sockets:
            listener.close()
    return 0


if __name__ == "__main__":
    sys.exit(run_loop(main(socket.socket(fileno=int(sys.argv[1])))))
