"""Prompt texts: one <verb>_<noun>.md for each job, with the JSON schema of its reply beside it.

Prompt text lives here and nowhere else. A file holds the fixed instructions, a line of three
dashes, and the part that changes with each call; `{{name}}` stands for a value.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from localmem.types import ChatMessage, Role

_SPLIT = "\n---\n"
_FIELD = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as data.

    `instructions` come first and never change, so that an engine can keep them evaluated.
    `schema` describes the reply for models that answer in JSON. `sha` is the provenance.
    """

    name: str
    instructions: str
    request: str
    schema: Mapping[str, Any]
    sha: str

    def messages(self, **values: str) -> tuple[ChatMessage, ChatMessage]:
        """The prompt with its values filled in, once each: values are never filled in again.

        Raises:
            KeyError: a value that the prompt names is missing.
        """
        filled = _FIELD.sub(lambda match: values[match.group(1)], self.request)
        return (
            ChatMessage(Role.SYSTEM, self.instructions),
            ChatMessage(Role.USER, filled),
        )


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt of this name.

    Raises:
        FileNotFoundError: there is no such prompt, or its schema is missing.
    """
    folder = resources.files(__package__)
    text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8")
    schema = folder.joinpath(f"{name}.json").read_text(encoding="utf-8")
    instructions, _, request = text.strip().partition(_SPLIT)
    sha = hashlib.sha256(f"{text}\0{schema}".encode()).hexdigest()
    return Prompt(name, instructions.strip(), request.strip(), json.loads(schema), sha)


def prompt_names() -> tuple[str, ...]:
    """The names of all prompts, sorted."""
    found = resources.files(__package__).iterdir()
    return tuple(sorted(one.name[:-3] for one in found if one.name.endswith(".md")))
