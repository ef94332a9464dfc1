"""The text of a ChatGPT message, out of the many shapes that its content takes."""

from __future__ import annotations

from typing import Any

from localmem.importers.records import (
    as_json,
    dict_of,
    dicts_of,
    first_name,
    join_texts,
    list_of,
    text_of,
)

HIDDEN_CONTENT = frozenset(
    {
        "user_editable_context",
        "model_editable_context",
        "thoughts",
        "reasoning_recap",
    }
)
"""Contents that are context or reasoning, not something said."""

_ASSETS = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_container_asset_pointer": "video",
    "real_time_user_audio_video_asset_pointer": "audio",
}


def content_text(content: dict[str, Any]) -> str:
    """What a message says: its parts, code, tool output or quoted page, one below the other."""
    parts = list_of(content.get("parts"))
    if parts:
        return join_texts(_part_text(part) for part in parts)
    quoted = [content.get(key) for key in ("title", "url", "text", "result", "summary")]
    return join_texts(text_of(value) for value in quoted)


def _part_text(part: object) -> str:
    if not isinstance(part, dict):
        return text_of(part)
    kind = first_name(part, "content_type", "type")
    if kind in _ASSETS:
        return ""
    if text := text_of(part.get("text")):
        return text
    if kind == "tool_call":
        return f"{first_name(part, 'name')} {as_json(part.get('input'))}".strip()
    output = part.get("output", part.get("content"))
    if output is None:
        return ""
    return text_of(output) or as_json(output)


def attachments_of(content: dict[str, Any], metadata: dict[str, Any]) -> str:
    """The names of attached files and images, and the words an image was made from."""
    files = dicts_of(metadata.get("attachments"))
    names = {first_name(file, "id", "file_id"): first_name(file, "name") for file in files}
    lines: list[str] = []
    for part in dicts_of(content.get("parts")):
        kind = first_name(part, "content_type", "type")
        if kind in _ASSETS:
            lines.append(_asset(part, _ASSETS[kind], names))
    lines.extend(f"[file] {name}" for name in names.values() if name)
    return join_texts(lines)


def _asset(part: dict[str, Any], label: str, names: dict[str, str]) -> str:
    """One line for an asset; its name is taken out of `names`."""
    inner = dict_of(part.get("audio_asset_pointer")) or part
    pointer = text_of(inner.get("asset_pointer")).rpartition("://")[2]
    name = names.pop(pointer, "")
    made_from = text_of(dict_of(dict_of(part.get("metadata")).get("dalle")).get("prompt"))
    return " ".join(word for word in (f"[{label}]", name, made_from) if word)
