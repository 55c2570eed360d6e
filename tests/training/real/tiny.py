"""A tiny model with random weights, and a tokenizer of single characters: python -m tests.training.real.tiny FOLDER"""

import string
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TOKENS = ["<pad>", "<eos>", "<unk>", *string.ascii_lowercase, *string.digits, *" :+=?"]
PAD, END, UNKNOWN = TOKENS[:3]
TEMPLATE = (
    "{% for message in messages %}{{ message['role'][0] }}:{{ message['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)


def make(folder: str) -> None:
    plain = Tokenizer(models.WordLevel({token: index for index, token in enumerate(TOKENS)}, unk_token=UNKNOWN))
    plain.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    plain.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(TOKENS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=256,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
