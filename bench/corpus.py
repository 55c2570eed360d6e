"""Texts for the benchmarks: made up, but with the statistics of English prose. The same seed, the same texts."""

import random
from itertools import accumulate

# The words of the head of the distribution, most frequent first, as in English.
FREQUENT_WORDS = """
the of and to a in is that it for was on with as be by at this are from have or an not they which one had but
were all their when there can more if will we about up other out so said what its two into than then some her
would make like him has time look could go come did number sound no most people my over know water call who
down been now find any new work part take get place made live where after back little only round man year came
show every good me give our under name very through just form sentence great think say help low line differ
turn cause much mean before move right boy old too same tell does set three want air well also play small end
put home read hand port large spell add even land here must big high such follow act why ask men change went
light kind off need house picture try us again animal point mother world near build self earth father
"""

CONTENT_WORDS = """
answer model system question reference grade market company government report city country school student
teacher research study result method theory energy power engine machine computer network program language
history culture music painting river mountain ocean forest climate weather season summer winter doctor patient
hospital medicine disease treatment cell protein planet star galaxy light electron particle atom reaction bridge
road railway station airport ship vehicle wheel bicycle price cost tax income budget bank loan interest trade
import export factory worker manager office contract law court judge lawyer police crime prison election vote
party president minister parliament army war peace treaty border island coast harbour village farmer wheat bread
cheese coffee sugar salt kitchen restaurant recipe garden flower tree leaf root seed bird fish horse dog cat
child family marriage birthday letter book author novel poem story chapter library newspaper magazine television
radio film actor theatre stage ticket game player team coach score season goal champion journey traveller hotel
describe explain discover develop produce increase reduce improve measure compare consider suggest require
provide support include contain remain become begin continue finish open close carry bring leave return arrive
important different possible available common modern ancient public private local national international
economic political natural human social special simple difficult early late strong weak quick slow bright dark
happy sad rich poor young expensive cheap famous quiet careful beautiful dangerous useful several various
"""

ENDINGS = ["", "", "", "s", "ed", "ing", "ly", "er", "ment", "ness"]
ONSETS = ["b", "br", "c", "ch", "d", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w"]
VOWELS = ["a", "e", "i", "o", "u", "ea", "ou"]
CODAS = ["", "", "n", "r", "s", "l", "t", "rd", "nk", "m"]

CONTRACTIONS = ["don't", "it's", "can't", "won't", "they've", "I'm", "we'll", "cannot", "gonna", "John's", "isn't"]
ABBREVIATIONS = ["Dr.", "Mr.", "Mrs.", "U.S.", "e.g.", "i.e.", "Inc.", "No. 5", "a.m.", "St.", "J. K. Rowling", "vs."]
ASIDES = ["(see below)", "-- or so --", "[1]", "50%", "$9.99", "C&A", "e-mail", "http://example.org/a?b=1", "..."]
FOREIGN = ["café", "naïve", "Zürich", "10 €", "“quoted”", "Москва", "東京", "3 × 4", "piñata", "—", "Ångström", "🙂"]


class Writer:
    """Writes texts of a wanted number of words, and altered copies of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        inflected = [word + ending for ending in ENDINGS for word in CONTENT_WORDS.split()]
        self.words = list(dict.fromkeys(FREQUENT_WORDS.split() + inflected + [self._name() for _ in range(4000)]))
        self.weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))

    def text(self, words: int, foreign: bool = False) -> str:
        """About `words` words of prose in sentences and paragraphs; `foreign` strews in text beyond ASCII."""
        parts: list[str] = []
        while len(parts) < words:
            parts += self._sentence(min(words - len(parts), self.random.randint(4, 28)), foreign)
            if self.random.random() < 0.08:
                parts[-1] += "\n\n"
        return " ".join(parts).replace("\n ", "\n").strip()

    def altered(self, text: str) -> str:
        """A copy in other words: some words replaced, dropped, doubled, moved, and now and then a new end."""
        change = self.random.uniform(0.05, 0.6)
        parts: list[str] = []
        for part in text.split(" "):
            if self.random.random() > change:
                parts.append(part)
                continue
            action = self.random.random()
            if action < 0.55:
                parts.append(self._word())
            elif action < 0.7:
                parts += [part, self._word()]
            elif action < 0.8:
                parts.insert(max(0, len(parts) - 3), part)
        if self.random.random() < 0.3:
            parts += self._sentence(self.random.randint(4, 20), foreign=False)
        return " ".join(parts)

    def _sentence(self, words: int, foreign: bool) -> list[str]:
        parts = [self._part(foreign) for _ in range(max(1, words))]
        parts[0] = parts[0][:1].upper() + parts[0][1:]
        if self.random.random() < 0.08:
            parts[0], parts[-1] = '"' + parts[0], parts[-1] + '"'
        parts[-1] += self.random.choices([".", "?", "!", ":", "..."], [85, 6, 4, 3, 2])[0]
        return parts

    def _part(self, foreign: bool) -> str:
        draw = self.random.random()
        if draw < 0.86:
            return self._word()
        if draw < 0.93:
            return self._word() + self.random.choices([",", ";", ":", ")"], [90, 5, 4, 1])[0]
        if draw < 0.95:
            return str(self.random.choice([1990, 2024, 3, 12, "3.14", "1,200", "10:30", "42nd"]))
        if draw < 0.965:
            return self.random.choice(CONTRACTIONS)
        if draw < 0.98:
            return self.random.choice(ABBREVIATIONS)
        if foreign:
            return self.random.choice(FOREIGN)
        return self.random.choice(ASIDES) if draw < 0.99 else self._name().capitalize()

    def _word(self) -> str:
        return self.random.choices(self.words, cum_weights=self.weights)[0]

    def _name(self) -> str:
        pick = self.random.choice
        syllables = self.random.choices([1, 2, 3], [2, 5, 3])[0]
        return "".join(pick(ONSETS) + pick(VOWELS) + pick(CODAS) for _ in range(syllables))


def pairs(count: int, seed: int = 7, shortest: int = 20, longest: int = 300) -> list[tuple[str, str]]:
    """(input, reference) pairs: the reference is an altered copy of the input; three in a hundred leave ASCII."""
    writer = Writer(seed)
    made = []
    for _ in range(count):
        text = writer.text(writer.random.randint(shortest, longest), foreign=writer.random.random() < 0.03)
        made.append((text, writer.altered(text)))
    return made
