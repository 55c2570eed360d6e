"""A double of the hosted service: all that can be read there, made from a seed, and faults to switch on.

    with hosting(World(Size(runs=20)), Faults(cut_every=7)) as hosted:
        ...  # hosted.base_url, hosted.key, hosted.requests

`python -m tests.hosted` runs one until it is stopped, and prints its address and its key.
"""

from tests.hosted.faults import Faults
from tests.hosted.service import KEY, Hosted, hosting
from tests.hosted.world import Size, World

__all__ = ["KEY", "Faults", "Hosted", "Size", "World", "hosting"]
