"""Pictures that stand alone: valid SVG, with what they are told and nothing that runs."""

from xml.etree import ElementTree as ET

from bench import plots


def test_each_picture_is_an_svg_with_its_title_and_its_names() -> None:
    pictures = [
        plots.ratios([("a & b", 0.9), ("c", 3.0)], "Ratios", 0.15),
        plots.lines({"a & b": [(1, 10.0), (1000, 5e6)], "c": [(1, 20.0), (1000, 30.0)]}, "Ratios", "nodes", "rows/s"),
        plots.shares({"a & b": {"owner": 1.0, "store": 0.0}, "c": {"owner": 0.5}}, "Ratios"),
    ]
    for picture in pictures:
        root = ET.fromstring(picture)  # noqa: S314  # our own
        texts = ["".join(part.itertext()) for part in root.iter("{http://www.w3.org/2000/svg}text")]
        assert texts[0] == "Ratios"
        assert any("a & b" in text for text in texts)
        assert "script" not in picture


def test_a_ratio_beyond_the_picture_stays_on_its_edge_with_its_number() -> None:
    far, edge = (plots.ratios([("a", ratio)], "", 0.15) for ratio in (9.0, 1.3))
    assert far.replace("9.00", "1.30") == edge
