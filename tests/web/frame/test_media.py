"""Pictures and sound: what a row itself holds is shown, and nothing is asked of another host."""

from typing import Any

import pytest

from fairmark.web.frame.media import LONGEST, Media, in_content, of_url, take_out

PNG = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        (PNG, "image"),
        ("data:audio/wav;base64,UklGRg==", "audio"),
        ("https://example.org/a.png", "link"),
        ("data:image/svg+xml;base64,PHN2Zz4=", "unknown"),  # it may hold scripts
        ("data:text/html;base64,PGI+", "unknown"),
        ('data:image/png;base64,AAAA" onerror="x', "unknown"),
        ("javascript:alert(1)", "unknown"),
        ("data:image/png;base64," + "A" * LONGEST, "unknown"),
    ],
)
def test_only_data_that_cannot_run_is_shown(url: str, kind: str) -> None:
    assert of_url(url).kind == kind


@pytest.mark.parametrize(
    ("text", "left", "media"),
    [
        ("plain", "plain", []),
        (f"Look: <image>{PNG}</image> nice", "Look:  nice", [Media("image", PNG)]),
        (PNG, "", [Media("image", PNG)]),
        ("<image>https://a.example/x</image>", "", [Media("link", "https://a.example/x")]),
        ("<image>nothing</image>", "<image>nothing</image>", []),
        ("a data: field", "a data: field", []),
    ],
)
def test_pictures_are_taken_out_of_texts(text: str, left: str, media: list[Media]) -> None:
    assert take_out(text) == (left, media)


@pytest.mark.parametrize(
    ("content", "text", "kinds"),
    [
        (None, "", []),
        ([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": PNG}}], "a", ["image"]),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": PNG}], "a", ["image"]),
        ([{"type": "input_audio", "input_audio": {"data": "UklG", "format": "wav"}}], "", ["audio"]),
        ([{"type": "input_audio", "input_audio": {"data": "UklG", "format": "exe"}}, 7, None], "", []),
    ],
)
def test_parts_of_messages_are_told_apart(content: Any, text: str, kinds: list[str]) -> None:
    said, media = in_content(content)
    assert (said, [one.kind for one in media]) == (text, kinds)
