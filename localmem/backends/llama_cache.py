"""The engine's cache of evaluated prompts: what is in it is used again, what is old is given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from localmem.backends.llama_native import BatchItem, CacheFullError, Logits, NativeModel
from localmem.backends.slots import Slot, SlotBook
from localmem.errors import GenerationError

SLOTS: Final = 4
"""Prompts that are kept after their reply, as sequences 0 to 3."""

WORKERS: Final = 8
"""Sequences beside them, from 4 on, for what is evaluated together and then dropped."""


class PromptCache:
    """The slots of one engine with `cells` tokens in all. Not safe for concurrent calls."""

    def __init__(self, native: NativeModel, cells: int) -> None:
        self.native = native
        self.cells = cells
        self._book = SlotBook(SLOTS)

    def place(self, prompt: Sequence[int]) -> tuple[Slot, int]:
        """The slot to evaluate a prompt in, and how many of its tokens are there already."""
        plan = self._book.plan(prompt)
        slot, keep, source = plan.target, plan.keep, plan.source
        holder = source or slot
        if not self.native.can_rewind and keep != len(holder.tokens):
            keep, source = 0, None
        if source is not None:
            self.native.copy_sequence(source.sequence, slot.sequence, keep)
        else:
            self.native.trim_sequence(slot.sequence, keep)
        slot.tokens = list(prompt[:keep])
        return slot, keep

    def evaluate_prompt(self, slot: Slot, prompt: Sequence[int], keep: int) -> Logits:
        """Evaluate what is missing of a prompt; the logits after its last token, copied."""
        row = 0
        for start in range(keep, len(prompt), self.native.batch_tokens):
            part = prompt[start : start + self.native.batch_tokens]
            items = [
                BatchItem(token, start + i, slot.sequence, start + i == len(prompt) - 1)
                for i, token in enumerate(part)
            ]
            self.evaluate(items, spared=slot)
            slot.tokens += part
            row = len(part) - 1
        return self.native.logits(row).copy()

    def evaluate(self, items: Sequence[BatchItem], *, spared: Slot | None) -> None:
        """Evaluate a batch; where the cache is full, give up what was used longest ago."""
        while True:
            try:
                self.native.evaluate(items)
                return
            except CacheFullError as error:
                oldest = self._book.give_up_oldest(spared)
                if oldest is None:
                    raise GenerationError(
                        f"the cache of {self.cells} tokens is full",
                        hint="set a larger context, or ask for shorter replies",
                    ) from error
                self.native.trim_sequence(oldest.sequence, 0)
