"""The part of `Memory` that front ends which stay open need. Wiring only."""

from __future__ import annotations

from localmem import paths
from localmem.config import Config, set_value
from localmem.errors import ConfigError
from localmem.shelf import ModelShelf
from localmem.store import Store

_SUGGESTIONS = 3
_THEMES = ("dark", "light")


class ServingFrontEnds:
    """What tells a program that stays open of changes, of models, of what to ask."""

    _store: Store
    _config: Config

    def generation(self) -> int:
        """Counts the changes of what search would return; other programs' changes too."""
        return self._store.generation()

    @property
    def shelf(self) -> ModelShelf:
        """The models of this user by name, as the configuration stands now."""
        return ModelShelf.open()

    @property
    def theme(self) -> str:
        """The side of the terminal app, "dark" or "light", as the configuration has it.

        Raises:
            ConfigError: it has another word.
        """
        theme = self._config.tui.theme
        if theme not in _THEMES:
            raise ConfigError(f"tui.theme is '{theme}'", hint=f"one of {', '.join(_THEMES)}")
        return theme

    def keep_theme(self, theme: str) -> None:
        """Let the terminal app begin with this side from now on.

        Raises:
            ConfigError: the configuration cannot be written.
        """
        set_value(paths.config_file(), section="tui", key="theme", value=theme)

    def suggestions(self, *, most: int = _SUGGESTIONS) -> tuple[str, ...]:
        """Questions that this memory can be asked; () for an empty one.

        Of the sample history its own questions, else what the owner talks about most.
        """
        from localmem.sample import questions, sample_export

        with self._store.reading():
            taken_in = {report.path for report in self._store.list_imports() if not report.undone}
            owner = self._store.owner()
            topics = self._store.person(str(owner.id)).topics if owner is not None else ()
        if str(sample_export()) in taken_in:
            return questions()[:most]
        return tuple(f"What did I say about {word}?" for word, _ in topics[:most])
