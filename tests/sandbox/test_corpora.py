"""The data of nltk in an image."""

from fairmark.sandbox import corpora


def test_the_topics_of_wordnet_are_numbered_as_in_its_documentation() -> None:
    lines = corpora.lexnames().splitlines()
    assert len(lines) == 45
    assert [lines[number] for number in (0, 2, 3, 28, 29, 44)] == [
        "00\tadj.all\t3",
        "02\tadv.all\t4",
        "03\tnoun.Tops\t1",
        "28\tnoun.time\t1",
        "29\tverb.body\t2",
        "44\tadj.ppl\t3",
    ]
