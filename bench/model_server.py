"""A model that answers at once, or streams slowly: what questions are passed on to, in a process of its own.

python -m bench.model_server     prints its address
"""

import asyncio
import json
import time

PAUSE_S = 0.02
COMPLETION = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris" * 20}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
    }
).encode()
CHUNK = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"Paris"},"finish_reason":null}]}\n\n'


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            if b'"stream": true' in body:
                await stream(writer)
            else:
                told = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
                writer.write(told % len(COMPLETION) + COMPLETION)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the client has gone
    finally:
        writer.close()


async def stream(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    until = time.monotonic() + 600
    while time.monotonic() < until:
        writer.write(b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK))
        await writer.drain()
        await asyncio.sleep(PAUSE_S)


async def main() -> None:
    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
