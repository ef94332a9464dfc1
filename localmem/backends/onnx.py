"""Embeddings with ONNX Runtime, on the processor.

Sole owner of onnxruntime and tokenizers. Opens no connection and writes nothing but the optimised
copy of the graph beside the model.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from localmem.backends.cpu import physical_cores
from localmem.backends.splitting import split_at_offsets
from localmem.errors import ModelError, ModelNotFoundError
from localmem.ports import FloatMatrix
from localmem.types import EmbedderFiles, Pooling

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

_log = logging.getLogger(__name__)
_BATCH = 16
_WINDOW = 1024
"""Texts that are sorted by length together; bounds the memory that token ids take."""


class OnnxEmbedder:
    """An embedder from one ONNX file and its tokenizer.json. Safe to call from several threads."""

    def __init__(self, files: EmbedderFiles, *, threads: int | None = None) -> None:
        for path in (files.weights, files.tokenizer):
            if not path.is_file():
                raise ModelNotFoundError(
                    f"embedder {files.name}: {path} does not exist",
                    hint=f"localmem models pull {files.name}",
                )
        self._files = files
        self._lock = Lock()
        self._tokenizer = _open_tokenizer(files)
        self._session = _open_session(files, threads or physical_cores())
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._dimension = _dimension_of(self._session, files)
        self._special = self._tokenizer.num_special_tokens_to_add(is_pair=False)

    @property
    def model_id(self) -> str:
        return self._files.model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._files.max_tokens

    def split(self, text: str) -> list[str]:
        """The text in pieces that each fit `max_tokens`, the passage prefix included."""
        if not text.strip():
            return []
        prefix = self._files.passage_prefix
        limit = self.max_tokens - self._special - self._count(prefix)
        pieces = split_at_offsets(text, self._encode_plain(text).offsets, limit)
        return [fitting for piece in pieces for fitting in self._halve_until(piece, limit)]

    def embed_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> FloatMatrix:
        """float32 (len(texts), dimension), unit rows; text past `max_tokens` is cut off.

        `on_progress` gets the number of texts done so far.
        """
        rows = np.zeros((len(texts), self._dimension), dtype=np.float32)
        prefix = self._files.passage_prefix
        done = 0
        for start in range(0, len(texts), _WINDOW):
            window = [prefix + text for text in texts[start : start + _WINDOW]]
            encodings = self._tokenizer.encode_batch_fast(window)
            by_length = sorted(range(len(window)), key=lambda i: (len(encodings[i].ids), i))
            for first in range(0, len(window), _BATCH):
                places = by_length[first : first + _BATCH]
                rows[[start + i for i in places]] = self._run([encodings[i] for i in places])
                done += len(places)
                if on_progress is not None:
                    on_progress(done)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """float32 (dimension,), unit length."""
        encoding = self._tokenizer.encode(self._files.query_prefix + text)
        row: NDArray[np.float32] = self._run([encoding])[0]
        return row

    def close(self) -> None:
        """Nothing to give back before the object itself goes."""

    def _encode_plain(self, text: str) -> Encoding:
        """Tokens of the whole text, without special tokens; the tokenizer itself cuts off."""
        return _first_and_rest(self._tokenizer.encode(text, add_special_tokens=False))

    def _count(self, text: str) -> int:
        return len(self._encode_plain(text).ids) if text else 0

    def _halve_until(self, piece: str, limit: int) -> list[str]:
        """A piece cut inside a word may have more tokens than its part of the whole had."""
        if self._count(piece) <= limit or len(piece) < 2:
            return [piece]
        middle = len(piece) // 2
        halves = (piece[:middle].strip(), piece[middle:].strip())
        return [part for half in halves if half for part in self._halve_until(half, limit)]

    def _run(self, encodings: Sequence[Encoding]) -> FloatMatrix:
        """Unit rows of one batch, padded to its longest text."""
        width = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), width), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        with self._lock:
            tokens = self._session.run(
                None, {name: value for name, value in feeds.items() if name in self._inputs}
            )[0]
        return pooled_unit_rows(tokens, mask, self._files.pooling)


def pooled_unit_rows(
    tokens: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling
) -> FloatMatrix:
    """float32 (n, dim) unit rows from token vectors (n, width, dim); padding does not count."""
    if pooling is Pooling.CLS:
        pooled = tokens[:, 0]
    else:
        weights = mask[:, :, None].astype(np.float32)
        pooled = (tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    lengths = np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
    rows: FloatMatrix = (pooled / lengths).astype(np.float32)
    return rows


def _open_tokenizer(files: EmbedderFiles) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:  # the library raises bare Exception
        raise ModelError(
            f"{files.tokenizer} is not a tokenizer: {error}",
            hint=f"localmem models pull {files.name}",
        ) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(files.max_tokens)
    return tokenizer


def _first_and_rest(encoding: Encoding) -> Encoding:
    """The encoding with what truncation cut off put back."""
    from tokenizers import Encoding

    return (
        Encoding.merge([encoding, *encoding.overflowing], growing_offsets=False)
        if encoding.overflowing
        else encoding
    )


def _open_session(files: EmbedderFiles, threads: int) -> Any:
    """A session on the optimised graph, which is made at the first opening and kept."""
    import onnxruntime as ort

    ort.set_default_logger_severity(3)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait take a third more processor time, and on a busy machine
    # they take it from the thread they wait for.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    cached = _cache_path(files, ort.__version__)
    try:
        if not cached.is_file():
            _write_optimised(files.weights, cached)
        path = cached if cached.is_file() else files.weights
        level = ort.GraphOptimizationLevel
        options.graph_optimization_level = (
            level.ORT_DISABLE_ALL if path == cached else level.ORT_ENABLE_ALL
        )
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library's errors have no common type
        raise ModelError(
            f"{files.weights} cannot be opened as an ONNX model: {error}",
            hint=f"localmem models pull {files.name}",
        ) from error


def _cache_path(files: EmbedderFiles, version: str) -> Path:
    marked = files.weights.stat()
    return files.weights.with_name(
        f".{files.weights.stem}-{version}-{files.sha256[:12]}-{marked.st_size}.optimised.onnx"
    )


def _write_optimised(weights: Path, cached: Path) -> None:
    """Optimise the graph once; a folder that cannot be written to costs memory, not the answer."""
    import onnxruntime as ort

    if not os.access(weights.parent, os.W_OK):
        _log.info("%s cannot be written to: the graph is optimised at every start", weights.parent)
        return
    partial = cached.with_suffix(f".{os.getpid()}.partial")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # EXTENDED, because the layouts of ALL belong to one processor and the folder may be moved.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(partial)
    ort.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    partial.chmod(0o600)
    partial.replace(cached)
    for stale in weights.parent.glob(f".{weights.stem}-*.optimised.onnx"):
        if stale != cached:
            stale.unlink(missing_ok=True)


def _dimension_of(session: Any, files: EmbedderFiles) -> int:
    """The model's own dimension, compared with what the entry says."""
    said = session.get_outputs()[0].shape[-1]
    if not isinstance(said, int):
        if files.dimension:
            return files.dimension
        raise ModelError(f"{files.weights} does not say its dimension", hint="add it to the entry")
    if files.dimension not in (0, said):
        raise ModelError(
            f"{files.weights} has dimension {said}, want {files.dimension}",
            hint=f"localmem models check {files.name}",
        )
    return said
