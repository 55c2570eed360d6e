"""all-MiniLM-L6-v2 as a GGUF: its published weights, number by number as they are, under the names llama.cpp knows.

Nothing is computed, so that the same weights always give the same file, and it takes no package to write it.
"""

import json
import struct
from pathlib import Path
from typing import IO, Any

ALIGNMENT = 32
_F32 = 0
_TYPES = {"u32": 4, "f32": 6, "bool": 7, "str": 8, "array": 9, "i32": 5}

_LAYERS = 6
_OUTER = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
NAMES = _OUTER | {
    f"encoder.layer.{number}.{theirs}.{part}": f"blk.{number}.{ours}.{part}"
    for number in range(_LAYERS)
    for theirs, ours in _LAYER.items()
    for part in ("weight", "bias")
}
"""The tensors by their published names. Those left out (the pooler, the positions' numbers) play no part."""


def write(weights: Path, vocabulary: Path, target: Path) -> None:
    """Write the GGUF of the weights (safetensors) and the vocabulary (one token a line)."""
    tokens = vocabulary.read_text("utf-8").splitlines()
    with weights.open("rb") as source, target.open("wb") as out:
        length = int.from_bytes(source.read(8), "little")
        tensors: dict[str, Any] = json.loads(source.read(length))
        first = 8 + length
        infos, places, end = [], [], 0
        for theirs, ours in NAMES.items():
            begin, stop = tensors[theirs]["data_offsets"]
            shape = tensors[theirs]["shape"][::-1]  # the fastest dimension comes first
            infos.append(_string(ours) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32, end))
            places.append((first + begin, stop - begin))
            end += _padded(stop - begin)
        values = _values(tokens)
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(values)))
        out.writelines([*values, *infos])
        out.write(bytes(_padded(out.tell()) - out.tell()))
        for begin, size in places:
            source.seek(begin)
            _copy(source, out, size)
            out.write(bytes(_padded(size) - size))


def _values(tokens: list[str]) -> list[bytes]:
    """What the file tells of the model: the numbers of its configuration, and how texts become tokens."""
    return [
        _value("general.architecture", "str", "bert"),
        _value("general.name", "str", "all-MiniLM-L6-v2"),
        _value("general.license", "str", "apache-2.0"),
        _value("general.file_type", "u32", _F32),
        _value("general.alignment", "u32", ALIGNMENT),
        _value("bert.block_count", "u32", _LAYERS),
        _value("bert.context_length", "u32", 512),
        _value("bert.embedding_length", "u32", 384),
        _value("bert.feed_forward_length", "u32", 1536),
        _value("bert.attention.head_count", "u32", 12),
        _value("bert.attention.layer_norm_epsilon", "f32", 1e-12),
        _value("bert.attention.causal", "bool", False),
        _value("bert.pooling_type", "u32", 1),  # the mean of all tokens
        _value("tokenizer.ggml.model", "str", "bert"),
        _value("tokenizer.ggml.token_type_count", "u32", 2),
        _array("tokenizer.ggml.tokens", "str", [_marked(token) for token in tokens]),
        _array("tokenizer.ggml.token_type", "i32", [3 if _is_special(token) else 1 for token in tokens]),
        *(
            _value(f"tokenizer.ggml.{role}_token_id", "u32", tokens.index(token))
            for role, token in (
                ("bos", "[CLS]"),
                ("eos", "[SEP]"),
                ("cls", "[CLS]"),
                ("seperator", "[SEP]"),  # the format's own spelling
                ("unknown", "[UNK]"),
                ("padding", "[PAD]"),
                ("mask", "[MASK]"),
            )
        ),
    ]


def _is_special(token: str) -> bool:
    return token.startswith("[") and token.endswith("]") and len(token) > 2


def _marked(token: str) -> str:
    """Published: "##ing" goes on a word. In a GGUF: what begins a word is marked, by U+2581."""
    if _is_special(token):
        return token
    return token[2:] if token.startswith("##") and len(token) > 2 else f"\u2581{token}"


def _value(key: str, kind: str, value: Any) -> bytes:
    return _string(key) + struct.pack("<I", _TYPES[kind]) + _plain(kind, value)


def _array(key: str, kind: str, values: list[Any]) -> bytes:
    head = _string(key) + struct.pack("<IIQ", _TYPES["array"], _TYPES[kind], len(values))
    return head + b"".join(_plain(kind, value) for value in values)


def _plain(kind: str, value: Any) -> bytes:
    if kind == "str":
        return _string(value)
    return struct.pack({"u32": "<I", "i32": "<i", "f32": "<f", "bool": "<?"}[kind], value)


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _copy(source: IO[bytes], out: IO[bytes], size: int) -> None:
    while size:
        part = source.read(min(size, 1 << 20))
        if not part:
            raise ValueError("the weights end too early")
        out.write(part)
        size -= len(part)
