"""python -m tests.hosted: a double of the hosted service on loopback, until it is stopped."""

import argparse
import asyncio
import dataclasses
import sys

from tests.hosted import Faults, Hosted, Size, World
from tests.hosted.service import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hosted", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--seed", type=int, default=1)
    for field in dataclasses.fields(Size):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, default=field.default)
    for field in dataclasses.fields(Faults):
        if field.type in (int, str, float) and field.name != "asked":
            parser.add_argument(f"--{field.name.replace('_', '-')}", type=field.type, default=field.default)
    wanted = vars(parser.parse_args())
    size = Size(**{field.name: wanted[field.name] for field in dataclasses.fields(Size)})
    faults = Faults(**{name: value for name, value in wanted.items() if name in Faults.__dataclass_fields__})
    asyncio.run(run(Hosted(World(size, wanted["seed"]), faults), wanted["port"]))


async def run(hosted: Hosted, port: int) -> None:
    await serve(hosted, port)
    sys.stdout.write(f"{hosted.base_url}\n{hosted.key}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
