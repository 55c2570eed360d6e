"""The least a Python server can do with a JSON body: read it, decode it, encode it, send it back.

    python -m bench.echo_server --port 0     prints its address

Starlette on uvicorn with msgspec: what our own server is compared with, which does the same and grades in between.
"""

import argparse
import socket

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def echo(request: Request) -> Response:
    value = msgspec.json.decode(await request.body())
    return Response(msgspec.json.encode(value), media_type="application/json")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.echo_server", description="An echo for benchmarks.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    given = parser.parse_args()
    bound = socket.create_server(("127.0.0.1", given.port), backlog=2048)
    print(f"Echo serves on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    app = Starlette(routes=[Route("/echo", echo, methods=["POST"])])
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_config=None, access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
