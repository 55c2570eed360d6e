"""Porter's stemmer: words that differ only in their endings get one stem (`connected`, `connecting`).

M. F. Porter's algorithm of 1980 with the amendments the reference library makes by default: a few
irregular words, `ie` kept in four-letter words on `-ies` and `-ied`, `y` to `i` after any consonant, the
endings `-alli`, `-bli`, `-fulli` and `-logi`, and a vowel followed by a consonant as a short syllable.
"""

import re
from collections import defaultdict

from fairmark.metrics.memo import Memo

Rules = dict[str, list[tuple[str, str]]]


def stem(word: str) -> str:
    """The stem of `word`, in lower case.

    One or two characters are their own stem. Everything but a, e, i, o, u and y counts as a consonant,
    digits, signs and accented letters included.
    """
    # Irregular words and short ones are told before lower-casing: "Skies" is not "skies" here, and
    # some characters become two by it.
    irregular = IRREGULAR.get(word)
    if irregular is not None:
        return irregular
    if len(word) <= 2:
        return word.lower()
    word = without_plural(word.lower())
    word = without_participle(word)
    if word.endswith("y") and len(word) > 2 and shape(word)[-2] not in "aeiou":
        word = word[:-1] + "i"
    word = without_double_suffix(word)
    word = replaced(word, STEP_3)
    word = without_suffix(word)
    return without_final_e(word)


STEMS = Memo(stem, max_texts=32_768, max_length=64)

IRREGULAR = {
    "sky": "sky",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "inning": "inning",
    "innings": "inning",
    "outing": "outing",
    "outings": "outing",
    "canning": "canning",
    "cannings": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}


# The conditions of the rules.

VOWEL_Y = re.compile("(?<=[^aeiou])y(y?)")
SYLLABLE = re.compile("[aeiou]+[^aeiou]")
# \Z, as $ would also match before a line break.
SHORT_END = re.compile(r"[^aeiou][aeiou][^aeiouwxy]\Z|\A[aeiou][^aeiou]\Z")


def shape(word: str) -> str:
    """`word` with every y that is a vowel, having a consonant before it, as an i.

    In a run of them, y is vowel and consonant in turn. The shape of a word's beginning is the beginning
    of the word's shape.
    """
    return VOWEL_Y.sub(r"i\1", word) if "y" in word else word


def measure(word: str) -> int:
    """Porter's m: how often a run of vowels is followed by a consonant."""
    return len(SYLLABLE.findall(shape(word)))


def ends_short(word: str) -> bool:
    """Porter's *o: consonant, vowel, consonant at the end (hop, not how), or just a vowel and a consonant."""
    return SHORT_END.search(shape(word)) is not None


# The steps.


def without_plural(word: str) -> str:
    """Step 1a."""
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("sses") or (word.endswith("ies") and len(word) != 4):
        return word[:-2]
    return word[:-1]


def without_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    if word.endswith("ed"):
        base = word[:-2]
    elif word.endswith("ing"):
        base = word[:-3]
    else:
        return word
    form = shape(base)
    if not any(vowel in form for vowel in "aeiou"):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if base[-2:-1] == base[-1] and form[-1] not in "aeiou":
        return base if base[-1] in "lsz" else base[:-1]
    if base.endswith("*d"):
        # The reference's name for the rule above is also taken for an ending of the word.
        return base[:-2] + "d"
    if measure(base) == 1 and ends_short(base):
        return base + "e"
    return base


def without_double_suffix(word: str) -> str:
    """Step 2."""
    if word.endswith("alli") and measure(word[:-4]) > 0:
        word = word[:-2]
    if word.endswith("logi"):
        # The l counts as part of the stem, for the sake of short ones like "geo".
        return word[:-1] if measure(word[:-3]) > 0 else word
    return replaced(word, STEP_2)


def without_suffix(word: str) -> str:
    """Step 4."""
    for suffix, _ in STEP_4.get(word[-2:], ()):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            if measure(base) > 1 and (suffix != "ion" or base[-1] in "st"):
                return base
            break
    return word


def without_final_e(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        base = word[:-1]
        syllables = measure(base)
        if syllables > 1 or (syllables == 1 and not ends_short(base)):
            word = base
    if word.endswith("ll") and measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def replaced(word: str, rules: Rules) -> str:
    """`word` with its longest listed suffix replaced, if what precedes that has a syllable."""
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if measure(base) > 0 else word
    return word


def by_ending(rules: str) -> Rules:
    """Rules by the last two letters of their suffix, the longer suffix first where one ends another."""
    table: Rules = defaultdict(list)
    for rule in rules.split():
        suffix, replacement = rule.split(":")
        table[suffix[-2:]].append((suffix, replacement))
    return dict(table)


STEP_2 = by_ending(
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble entli:ent eli:e ousli:ous fulli:ful "
    "ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous "
    "aliti:al iviti:ive biliti:ble"
)
STEP_3 = by_ending("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
STEP_4 = by_ending("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive: ize:")
