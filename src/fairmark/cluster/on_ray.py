"""Ray, which nothing else imports. Its actors are the processes that grade; whoever asks has them as posts."""

import asyncio
import logging
import os
import queue
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from fairmark.cluster.dispatch import AT_ONCE, SPARE, Lost
from fairmark.cluster.environment import variables
from fairmark.cluster.leases import Beat, ModelLeases
from fairmark.cluster.limiter import Grant, Limiter, Report
from fairmark.cluster.orders import Answer
from fairmark.cluster.outpost import GradeChunk, Outpost, version
from fairmark.endpoints.chosen import lists_only
from fairmark.errors import ClusterUnusable
from fairmark.work import together

NAMESPACE = "fairmark"
REACH_S = 10.0
CONNECT_WITHIN_S = 120.0
ANSWER_WITHIN_S = 30.0
"""How long the head may take to tell what there is."""
NODE_WITHIN_S = 120.0
"""How long a machine may take to tell what it can do; its first process has to be begun for it."""

T = TypeVar("T")


def start(address: str, actors: int, grade: GradeChunk) -> "list[RayPost]":
    """Actors that are about to begin, in a cluster that is there. May take long. Raises ClusterUnusable."""
    ray = connect(address)
    cores = int(_told(address, ray.cluster_resources).get("CPU", 0))
    if cores < 1:
        raise ClusterUnusable(f"the Ray cluster at {address} has no core to grade on.")
    share_limits()  # what cannot be sent is graded here
    make = _maker(ray, grade)
    return [RayPost(ray, make) for _ in range(actors or cores)]


def aside(call: Callable[[], T]) -> "Future[T]":
    """A call of Ray's in a thread that nobody has to wait for: while the head hangs it may never come back, and Python
    does not end before the threads of its executors have."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # so that who gives up waiting does not take the answer's place

    def ask() -> None:
        try:
            answer.set_result(call())
        except Exception as error:
            answer.set_exception(error)

    threading.Thread(target=ask, name="fairmark-ray", daemon=True).start()
    return answer


def _told(address: str, call: Callable[[], T]) -> T:
    """What the cluster's head says. Raises ClusterUnusable where it does not."""
    try:
        return aside(call).result(ANSWER_WITHIN_S)
    except TimeoutError:
        raise ClusterUnusable(
            f"the Ray cluster at {address} does not answer: its head has said nothing for {ANSWER_WITHIN_S:g} s."
        ) from None


def connect(address: str) -> Any:
    """The module `ray`, in a process that has a cluster. Raises ClusterUnusable."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ClusterUnusable(f"engine='ray' needs the package {error.name}: pip install 'fairmark[ray]'") from None
    if not ray.is_initialized():
        logging.getLogger("ray").setLevel(logging.ERROR)  # what matters is told in our words
        named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
        why = _unreachable(named) or _initialise(ray, address)
        if why is not None:
            raise ClusterUnusable(
                f"no Ray cluster at {named or address}: {why}. Start one with ray start --head, name another address, "
                "or use local for one that lives as long as this process."
            )
    return ray


def _unreachable(address: str) -> str | None:
    """Why nobody can be there; None where somebody may be. Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "://" in address:
        return None
    try:
        socket.create_connection((host, int(port)), REACH_S).close()
    except (OSError, OverflowError) as error:
        return f"nobody answers there ({error})"
    return None


def _initialise(ray: Any, address: str) -> str | None:
    """Why there is no connection; None where there is. In a thread of its own: in the main thread Ray would take over
    the caller's signals, and a connection that never comes can be given up."""
    told: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def connect() -> None:
        try:
            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
            told.put(" ".join(str(error).split()).rstrip("."))
        else:
            told.put(None)
            # The processes of a cluster that was begun here are killed with the thread that began them.
            threading.Event().wait()

    threading.Thread(target=connect, name="fairmark-ray", daemon=True).start()
    try:
        return told.get(timeout=CONNECT_WITHIN_S)
    except queue.Empty:
        return f"no connection within {CONNECT_WITHIN_S:g} s"


def on_each_node(address: str, function: Callable[[], T]) -> Iterator[tuple[str, T | str]]:
    """What the function says on each machine of a cluster, or why it says nothing. Raises ClusterUnusable."""
    ray = connect(address)
    task = ray.remote(num_cpus=0, max_retries=0, runtime_env={"env_vars": variables()})(function)
    asked = []
    for node in _told(address, ray.nodes):
        if node["Alive"]:
            here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerHostname']}, {node['NodeManagerAddress']}, node {node['NodeID'][:8]}"
            asked.append((name, task.options(scheduling_strategy=here).remote()))
    for name, reference in asked:
        try:
            yield name, ray.get(reference, timeout=NODE_WITHIN_S)
        except ray.exceptions.RayError as error:  # also where it took too long
            yield name, _in_short(str(error)) + "."


def _maker(ray: Any, grade: GradeChunk) -> Callable[[], Any]:
    """Makes actors. What they need to know of our settings is in their environment, and nowhere else."""
    actor = ray.remote(
        num_cpus=1,
        max_restarts=-1,
        max_task_retries=0,  # whoever holds the rows sends them again, to whoever is well
        max_concurrency=AT_ONCE + SPARE,
        concurrency_groups={SIGNS: 1},
        scheduling_strategy="SPREAD",
        runtime_env={"env_vars": variables()},
    )(Outpost)
    told = {"only_listed": lists_only()}
    return lambda: actor.remote(grade, told, share_limits)


def share_limits() -> None:
    """From now on this process, one of a cluster, holds the limits of models together with all others of it."""
    import ray

    together.use(ModelLeases(_beater(ray)))


def _beater(ray: Any) -> Beat:
    """The way to the cluster's limiter, which is made where there is none."""
    limiter: Any = None
    finding: Future[Any] | None = None
    is_first = True

    async def beat(process: str, reports: Sequence[Report]) -> Sequence[Grant]:
        nonlocal limiter, finding, is_first
        if not ray.is_initialized():
            raise Lost("this process has left the cluster")
        try:
            if limiter is None:
                if finding is None or finding.done():
                    finding = aside(partial(_limiter, ray, is_first))
                limiter = await asyncio.wrap_future(finding)
            grants: Sequence[Grant] = await limiter.beat.remote(process, reports)
        except (ray.exceptions.RayError, ValueError) as error:
            limiter, is_first = None, False
            raise Lost(_in_short(str(error))) from None
        is_first = False
        return grants

    return beat


class ClusterLimiter(Limiter):
    """The limiter as an actor. One that Ray has begun anew knows nothing of what the one before has granted."""

    def __init__(self, quiet: bool) -> None:
        import ray

        super().__init__(quiet or ray.get_runtime_context().was_current_actor_reconstructed)


def _limiter(ray: Any, is_first: bool) -> Any:
    actor = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0)(ClusterLimiter)
    # Another version may speak otherwise.
    name = f"limiter of Fairmark {version()}"
    options = {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
    return actor.options(**options).remote(not is_first)


SIGNS = "signs"
"""What answers while chunks are worked on."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RAISED = re.compile(r"(\w+\.)*\w+(Error|Exception|Invalid\w+): ")


class RayPost:
    """An actor. One that has ended for good is followed by another."""

    def __init__(self, ray: Any, make: Callable[[], Any]) -> None:
        self._ray = ray
        self._make = make
        self._actor = make()
        self._is_dead = False

    async def hello(self) -> Mapping[str, Any]:
        told: Mapping[str, Any] = await self._answer(lambda: self._begun().hello.remote())
        return told

    def _begun(self) -> Any:
        if self._is_dead:
            self._actor, self._is_dead = self._make(), False
        return self._actor

    async def grade(self, order: bytes) -> bytes | Answer:
        answer: bytes | Answer = await self._answer(lambda: self._actor.grade.remote(order))
        return answer

    async def sign(self) -> object:
        return await self._answer(lambda: self._actor.sign.options(concurrency_group=SIGNS).remote())

    def end(self) -> None:
        self._kill(no_restart=False)

    def close(self) -> None:
        self._kill(no_restart=True)

    def _kill(self, *, no_restart: bool) -> None:
        if self._ray.is_initialized():
            self._ray.kill(self._actor, no_restart=no_restart)

    async def _answer(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        exceptions = self._ray.exceptions
        if not self._ray.is_initialized():  # asked all the same, Ray would begin a cluster of its own
            raise Lost("this process has left the cluster")
        try:
            return await ask()
        except exceptions.ActorDiedError as error:
            self._is_dead = True
            told = str(error)
            raise Lost(_in_short(told), hopeless="creation task" in told or "ModuleNotFoundError" in told) from None
        except exceptions.RayError as error:
            raise Lost(_in_short(str(error))) from None


def _in_short(told: str) -> str:
    """The telling line of Ray's message: the last one, which has the reason, where something was raised."""
    lines = [line.strip() for line in _COLOURS.sub("", told).splitlines() if line.strip()]
    line = next((line for line in reversed(lines) if _RAISED.match(line)), lines[0] if lines else "no reason was given")
    if "No module named 'fairmark" in line:
        line += ". Install Fairmark on every machine of the cluster"
    return line.rstrip(".")[:400]
