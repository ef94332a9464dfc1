"""The models of a memory: loaded when first needed, each once, and used for what they can do.

What a model can do is what its self-test has shown; nothing here reads what a model says.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from localmem.errors import ModelError, ModelNotFoundError
from localmem.ports import Embedder, Llm
from localmem.store import Store
from localmem.types import Finding, ModelRole

if TYPE_CHECKING:
    from localmem.jobs.warming import WarmModel
    from localmem.layers.cache import LayerModel


class ModelSource(Protocol):
    """Where a memory's models come from: the shelf, or what a program brings."""

    def embedder(self, name: str | None = None) -> Embedder: ...

    def embedder_of(self, model_id: str | None) -> Embedder: ...

    def llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model of a role, loaded.

        Raises:
            ModelError: there is none, or it could not be loaded.
        """
        ...

    def llm_key(self, role: ModelRole = ModelRole.ANSWER) -> str:
        """What tells the language models of two roles apart; loads nothing.

        Raises:
            ModelError: there is none.
        """
        ...

    def passes(self, ability: str, role: ModelRole) -> bool:
        """Whether a role's model has shown an ability in its self-test; loads nothing."""
        ...

    def reads_well(self, role: ModelRole = ModelRole.ANSWER) -> bool:
        """Whether what a role's model writes is better than what rules make; loads nothing."""
        ...

    def examine(self, embedder_id: str | None) -> tuple[Finding, ...]:
        """Findings about the models, for `doctor`."""
        ...


class LoadedModels:
    """The embedder and the language models that one memory has loaded. Safe for threads.

    `lock` keeps the language models as they are while a question uses them.
    """

    def __init__(self, source: ModelSource, store: Store) -> None:
        self.lock = threading.RLock()
        self._embedder_lock = threading.RLock()  # a search does not wait for an answer
        self._source = source
        self._store = store
        self._embedder: Embedder | None = None
        self._llms: dict[str, Llm] = {}

    def close(self) -> None:
        """Give the models back."""
        for owned in (*self._llms.values(), self._embedder):
            if owned is not None:
                owned.close()
        self._llms.clear()
        self._embedder = None

    def examine(self) -> tuple[Finding, ...]:
        """Findings about the models, for `doctor`."""
        return self._source.examine(self._store.active_embedder())

    # --- Embedders ------------------------------------------------------------------------

    def memory_embedder(self) -> Embedder:
        """The embedder of this memory's vectors; a memory without gets the one in use.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        model_id = self._store.active_embedder()
        embedder = self._loaded_embedder(model_id)
        if model_id is None:
            self._store.set_active_embedder(embedder.model_id)
        return embedder

    def embedder_or_none(self, model_id: str) -> Embedder | None:
        """The embedder with this id; None where it is not on this machine (search says so)."""
        try:
            return self._loaded_embedder(model_id)
        except ModelNotFoundError:
            return None

    def new_embedder(self, name: str | None) -> Embedder:
        """An embedder by name (None: the one in use), beside the one that is loaded.

        Raises:
            ModelNotFoundError: it is not on this machine.
        """
        return self._source.embedder(name)

    def swap_embedder(self, new: Embedder) -> None:
        """Use this embedder from now on; the one before is closed."""
        if self._embedder is not None:
            self._embedder.close()
        self._embedder = new

    def _loaded_embedder(self, model_id: str | None) -> Embedder:
        with self._embedder_lock:
            loaded = self._embedder
            if loaded is None or (model_id is not None and loaded.model_id != model_id):
                self.swap_embedder(self._source.embedder_of(model_id))
            assert self._embedder is not None  # noqa: S101  # just set, for the type checker
            return self._embedder

    # --- Language models ------------------------------------------------------------------

    def llm(self, role: ModelRole = ModelRole.ANSWER) -> Llm:
        """The language model of a role; one that has several roles is loaded once.

        Raises:
            ModelError: there is none, or it could not be loaded.
        """
        with self.lock:
            key = self._source.llm_key(role)
            if key not in self._llms:
                self._llms[key] = self._source.llm(role)
            return self._llms[key]

    def reads_well(self) -> bool:
        """Whether answers of the model that answers are better than what rules take out.

        Raises:
            ModelError: there is none.
        """
        return self._source.reads_well()

    def steers(self) -> bool:
        """Whether the controller's model has shown that it can lead a search."""
        return self._has_passed("controller", ModelRole.CONTROLLER)

    def reasons(self) -> bool:
        """Whether the models that note and answer may write more than a few words."""
        roles = (ModelRole.NOTES, ModelRole.ANSWER)
        return all(
            self._has_passed(name, role) for name in ("json", "whole_session") for role in roles
        )

    def reads_sessions(self) -> bool:
        """Whether the model that writes layers has shown that it reads whole sessions."""
        return self._has_passed("whole_session", ModelRole.LAYERS)

    def for_deep(self) -> tuple[dict[str, Llm], tuple[str, ...]]:
        """The models of a deep question by role, and what is to be said about them."""
        models: dict[str, Llm] = {}
        try:
            models["answer"] = self.llm()
            models["notes"] = self.llm(ModelRole.NOTES)
            if self.steers():
                models["controller"] = self.llm(ModelRole.CONTROLLER)
        except ModelError as error:
            without = f"{error.message}: " + (
                "went on with fewer models" if models else "answered without a language model"
            )
            return models, (without,)
        return models, ()

    def for_layers(self) -> LayerModel | None:
        """The model that writes layers; None where its writing is worse than what rules make.

        Raises:
            ModelError: there is none, or it could not be loaded.
        """
        from localmem.layers.cache import LayerModel

        whole_session = self._source.passes("whole_session", ModelRole.LAYERS)
        if not (whole_session or self._source.reads_well(ModelRole.LAYERS)):
            return None
        return LayerModel(self.llm(ModelRole.LAYERS), whole_session)

    def for_warming(self) -> WarmModel:
        """The model that writes layers ahead; a local file is loaded only when it is used.

        Raises:
            ModelError: there is none that writes better layers than the rules do.
        """
        from localmem.jobs.warming import WarmModel

        windows = self._source.passes("whole_session", ModelRole.LAYERS)
        key = self._source.llm_key(ModelRole.LAYERS)
        if not (windows or self._source.reads_well(ModelRole.LAYERS)):
            raise ModelError(
                f"{key} writes no better layers than the rules do: nothing was made",
                hint="take a larger model: localmem models list",
            )
        if "://" in key:  # the server alone knows the name of its model
            key = self.llm(ModelRole.LAYERS).model_id
        return WarmModel(key, windows, lambda: self.llm(ModelRole.LAYERS))

    def _has_passed(self, ability: str, role: ModelRole) -> bool:
        """Whether a role's model is here and has shown an ability."""
        try:
            return self._source.passes(ability, role)
        except ModelError:
            return False
