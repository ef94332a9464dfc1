"""Engines behind the ports: language models and embedders. Nothing heavy is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localmem.ports import Embedder
    from localmem.types import EmbedderFiles

__all__ = ["open_embedder"]


def open_embedder(files: EmbedderFiles, *, threads: int | None = None) -> Embedder:
    """The embedder in these files; `threads` None means one per physical core.

    Raises:
        ModelNotFoundError, ModelError
    """
    from localmem.backends.onnx import OnnxEmbedder

    return OnnxEmbedder(files, threads=threads)
