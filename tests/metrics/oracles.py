"""The reference implementations, called as the metrics are defined by them, and texts that try them hard."""

import warnings
from functools import cache
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from nltk.tokenize import sent_tokenize, word_tokenize
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.gleu_score import sentence_gleu
from rapidfuzz import fuzz
from rouge_score.rouge_scorer import RougeScorer

from tests.thoroughness import share

# The same examples every time, however slow the machine.
thorough = settings(derandomize=True, deadline=None, max_examples=share(400))


@cache
def international() -> Any:
    # Not at the top: importing it reads data. It also writes patterns out of sets, in an order that each process draws
    # anew: where "[" comes first, `re` warns of a pattern that is right as it is.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from nltk.tokenize.nist import NISTTokenizer

    return NISTTokenizer()


def reference_tokens(text: str) -> list[str]:
    return list(word_tokenize(text) if text.isascii() else international().international_tokenize(text))


def reference_sentences(text: str) -> list[str]:
    return list(sent_tokenize(text))


def reference_fuzzy(text: str, reference: str) -> float:
    return fuzz.ratio(text, reference) / 100


def reference_bleu(text: str, reference: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(
            sentence_bleu(
                [reference_tokens(reference)],
                reference_tokens(text),
                smoothing_function=SmoothingFunction().method4,
            )
        )


def reference_gleu(text: str, reference: str) -> float:
    return float(sentence_gleu([reference_tokens(reference)], reference_tokens(text)))


@cache
def reference_rouge(text: str, reference: str) -> dict[str, float]:
    kinds = {f"rouge_{n}": f"rouge{n.upper()}" for n in "12345l"}
    found = RougeScorer(list(kinds.values()), use_stemmer=False).score(reference, text)
    return {name: float(found[kind].fmeasure) for name, kind in kinds.items()}


# Pieces that the rules of the tokenizers treat in their own ways, alone or next to one another.
WORDS = """
Mr. Dr. U.S. e.g. i.e. a.m. p.m. No. St. vs. J. K. B. I. O. _. A. z. Smith Stewart stewart international 1. 12.
3.14 1,200 10:30 -5. ,5 ... .. . -- --- '' `` ` ' " can't cannot CANNOT Gonna gimme lemme wanna wanna. gotta
more'n d'ye 'tis 'Twas 'tis'twas cannot'tis don't DON'T they've we'll WE'LL he'd I'm dogs' x's' 's 't n't 'a 'b'
) ( ] [ } { > < .) ." .' ?" !" !!! ?! ?. .? !) , ,, ,,, : :: a,b a,,b 5,6 5:6 The the He he And said. However
however Inc. Inc co. Co. Ltd. word. word Word Word. end.) end." (end. "Start 'Start "a" 'a' & &amp; @x #tag $5
5% a*b -foo foo- a-b. foo-co. ph.d. Ph.D. u.s.s.r. ##number## x_ _ http://a.b/?c=d&e wanna's <b> ''x x''
"""
FOREIGN = """
é ü naïve café Жя 東京は 。 、 ！ … — – “ ” ‘ ’ « » „ € £ × ÷ ° ² ³ ½ ① ⅷ ٣ ० \u200b \u0301 \u212a \u0130 🙂 👍🏽
\ufeff ± ∑ ← ★ a。b 3。4 3.5 x…y ... ،، ..€ <skipped> &amp; &lt; &gt; &quot; &apos; &#91; &#93; &#124; &#65;
&amp;lt; &amp;amp; <skip<skipped>ped> \ud800 \udfff
"""
SPACES = [" ", " ", " ", "  ", "", "", "\n", "\n\n", "\t", "\r\n", "\x0b", "\x0c", "\x1c", "\x1f"]
FOREIGN_SPACES = [*SPACES, "\x85", "\u00a0", "\u2028", "\u2029", "\u3000"]


def strewn(pieces: list[str], spaces: list[str]) -> st.SearchStrategy[str]:
    """Texts of these pieces with these spaces, or nothing, between them."""
    piece = st.tuples(st.sampled_from(pieces), st.sampled_from(spaces)).map("".join)
    return st.lists(piece, max_size=25).map("".join)


soup = st.text(st.sampled_from("abAB01  ...,:;?!'\"`()[]{}<>-@#$%&*_/\\|~^+=\t\n\x00\x7f"), max_size=60)
ascii_texts = (
    strewn(WORDS.split(), SPACES) | strewn(WORDS.split(), [" "]) | soup | st.text(st.characters(codec="ascii"))
)
foreign_texts = strewn([*FOREIGN.split(" "), *WORDS.split()], FOREIGN_SPACES) | strewn(list(FOREIGN), [""]) | st.text()
texts = ascii_texts | foreign_texts

# Few different words, so that much matches, repeats and overlaps itself.
repetitive = st.text("aB c.", max_size=40) | st.lists(st.sampled_from(["the", "cat", "a", "."]), max_size=40).map(
    " ".join
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts; the second is often the first, changed here and there."""
    text = draw(texts | repetitive)
    if draw(st.booleans()):
        return text, draw(texts | repetitive)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    changed = text
    for cut in reversed(cuts):
        changed = changed[:cut] + draw(st.sampled_from(["", " ", ".", "a", "the cat ", "é"])) + changed[cut + 1 :]
    return text, changed
