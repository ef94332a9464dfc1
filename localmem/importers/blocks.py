"""Content given as a list of typed blocks: text, tool calls, tool results, images.

Several programs share this shape. Reasoning blocks are not something said and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from localmem.importers.records import (
    as_json,
    dict_of,
    first_name,
    join_texts,
    text_of,
)
from localmem.types import Role

_IMAGES = frozenset({"image", "image_url", "input_image"})
_FILES = frozenset({"file", "document", "input_file"})
_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning", "think"})


@dataclass(frozen=True, slots=True)
class Segment:
    """Neighbouring blocks of one role. `tool` names the tool of a result, where it is known."""

    role: Role
    text: str
    attachment_text: str = ""
    tool: str = ""


def segments_of(content: object, role: Role) -> list[Segment]:
    """The content in order, as few segments as its roles allow; [] where nothing is said."""
    if isinstance(content, str):
        text = text_of(content)
        return [Segment(role, text)] if text.strip() else []
    if not isinstance(content, list):
        return []
    merged: list[Segment] = []
    for segment in _blocks(content, role):
        last = merged[-1] if merged else None
        if last is not None and (last.role, last.tool) == (segment.role, segment.tool):
            text = join_texts([last.text, segment.text])
            attached = join_texts([last.attachment_text, segment.attachment_text])
            merged[-1] = Segment(last.role, text, attached, last.tool)
        else:
            merged.append(segment)
    return merged


def _blocks(content: list[Any], role: Role) -> Iterator[Segment]:
    for block in content:
        found: list[Segment | None] = []
        if isinstance(block, str):
            found = [Segment(role, text_of(block))]
        elif isinstance(block, dict):
            found = [_block(block, role), _answer_inside(block)]
        for segment in found:
            if segment is not None and (segment.text.strip() or segment.attachment_text):
                yield segment


def _block(block: dict[str, Any], role: Role) -> Segment | None:
    kind = name if isinstance(name := block.get("type"), str) else ""
    if kind in _REASONING:
        return None
    if kind in ("tool_use", "server_tool_use", "tool_call"):
        return Segment(Role.ASSISTANT, _call(block))
    if kind.endswith("tool_result"):
        return _result(block)
    if kind in _IMAGES:
        return Segment(role, "", f"[image] {first_name(block, 'file_name', 'name')}".strip())
    if kind in _FILES:
        return Segment(role, "", f"[file] {first_name(block, 'file_name', 'name')}".strip())
    return Segment(role, block_text(block))


def block_text(block: dict[str, Any]) -> str:
    """The text of a text block, whose text may be wrapped once more."""
    inner = block.get("text", block.get("content"))
    return text_of(inner) or text_of(dict_of(inner).get("value"))


def _call(block: dict[str, Any]) -> str:
    name = first_name(block, "name", "tool_name")
    arguments = block.get("input", block.get("arguments"))
    return f"{name} {as_json(arguments)}" if arguments else name


def _answer_inside(block: dict[str, Any]) -> Segment | None:
    """The result that some programs keep in the call itself."""
    output = block.get("output")
    if block.get("type") != "tool_call" or output is None:
        return None
    return Segment(
        Role.TOOL, text_of(output) or as_json(output), "", first_name(block, "tool_name")
    )


def _result(block: dict[str, Any]) -> Segment:
    inner = segments_of(block.get("content", block.get("output")), Role.TOOL)
    text = join_texts(segment.text for segment in inner)
    attached = join_texts(segment.attachment_text for segment in inner)
    return Segment(Role.TOOL, text, attached, first_name(block, "name"))
