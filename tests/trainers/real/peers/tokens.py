"""A tokenizer of a few words, made here: nothing is downloaded."""
# mypy: disable-error-code="import-not-found"

from pathlib import Path
from typing import Any

WORDS = ["<pad>", "</s>", "Paris", "Rome", "fail", "die", "loop", "Capital", "?"]
END = WORDS.index("</s>")
PAD = WORDS[0]


def tokenizer(folder: Path) -> Any:
    """Saved in the folder, too."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token=PAD))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=words, pad_token=PAD, eos_token=WORDS[END])
    made.save_pretrained(folder)
    return made
