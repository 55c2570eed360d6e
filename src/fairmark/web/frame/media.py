"""Pictures and sound in texts and messages: what a row itself holds is shown, what lies elsewhere is a link.

Only kinds that browsers decode and that cannot hold scripts, only as data: the page asks no other host for anything.
"""

import re
from typing import Any, Literal, NamedTuple

LONGEST = 4_000_000
"""Characters of a picture or a sound on a page."""
MOST = 50
_DATA = re.compile(
    r"data:(image/(?:png|jpe?g|gif|webp)|audio/(?:wav|x-wav|wave|mpeg|mp3|ogg|webm|flac|aac|mp4));base64,([A-Za-z0-9+/]+=*)"
)
_TAG = re.compile(r"<image>\s*(data:[^<]*|https?://[^<\s]*)\s*</image>")
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}


class Media(NamedTuple):
    kind: Literal["image", "audio", "link", "unknown"]
    source: str
    """What the browser is given; of what is not shown, as much as tells it."""


def take_out(text: str) -> tuple[str, list[Media]]:
    """The text without pictures, and those. Stored messages have each as its address in a tag; a field may be one."""
    if "data:" not in text and "<image>" not in text:
        return text, []
    whole = text.strip()
    if whole.startswith(("data:image/", "data:audio/")):
        return "", [of_url(whole)]
    media: list[Media] = []

    def out(tag: re.Match[str]) -> str:
        if len(media) >= MOST:
            return tag[0][:80]
        media.append(of_url(tag[1].strip()))
        return ""

    return _TAG.sub(out, text), media


def of_url(url: str) -> Media:
    if len(url) <= LONGEST and (data := _DATA.fullmatch(url)):
        return Media("image" if data[1].startswith("image/") else "audio", url)
    if url.startswith(("https://", "http://")):
        return Media("link", url[:2000])
    return Media("unknown", url[:60])


def in_content(content: Any) -> tuple[str, list[Media]]:
    """The text of a message's content and what else is in it, in the forms of chat completions and responses."""
    if isinstance(content, str):
        return take_out(content)
    texts: list[str] = []
    media: list[Media] = []
    for part in content if isinstance(content, list) else [content]:
        match part:
            case str():
                texts.append(part)
            case {"text": str() as text}:
                texts.append(text)
            case {"image_url": {"url": str() as url}} | {"image_url": str() as url}:
                media.append(of_url(url))
            case {"input_audio": {"data": str() as data, "format": str() as form}} if form in _SOUNDS:
                media.append(of_url(f"data:{_SOUNDS[form]};base64,{data}"))
            case _:
                pass
    text, more = take_out("".join(texts))
    return text, [*media[:MOST], *more]
