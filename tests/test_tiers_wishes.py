"""Standing wishes: found in the owner's words, kept, told as data, gone with their message."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from localmem.cli.app import app
from localmem.jobs.consolidating import consolidate
from localmem.jobs.deriving import derive_vectors
from localmem.jobs.episode_views import episode_view, tiers_view
from localmem.store import Store
from localmem.testing import HashEmbedder, build_memory
from localmem.tiers.wishes import as_told, wishes_of
from localmem.types import (
    ConversationKind,
    ForgetTarget,
    GateKind,
    ImportedConversation,
    ImportedMessage,
    LastingKind,
    Role,
)

_WHEN = datetime(2024, 5, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Always give the metric units when I ask about recipes.",
        "Thanks! From now on, answer in two sentences.",
        "Please never use emojis.",
        "Whenever I ask about trains, show the platform first.",
    ],
)
def test_a_rule_for_later_is_a_standing_wish(text: str) -> None:
    (wish,) = wishes_of(text)
    assert wish.standing


@pytest.mark.parametrize(
    "text",
    ["I prefer rye bread over white bread.", "I'd rather take the night train, can you plan it?"],
)
def test_a_liking_is_a_preference(text: str) -> None:
    (wish,) = wishes_of(text)
    assert not wish.standing


@pytest.mark.parametrize(
    "text",
    [
        "It always rains here.",
        "She never called back.",
        "Can you help me with the recipe?",
        "```\n# always run this\nnever()\n```",
        "",
    ],
)
def test_what_is_no_wish_is_none(text: str) -> None:
    assert wishes_of(text) == ()


def test_only_the_sentence_of_the_wish_is_kept_and_cut() -> None:
    (wish,) = wishes_of("We met at 3.5 km. Always add the distance in km. It was sunny.")
    assert wish.text == "Always add the distance in km."
    (long,) = wishes_of("Always add " + "one more " * 80)
    assert len(long.text) <= 302


def filled(path: Path) -> Store:
    store = Store(path, idle_s=5)
    said = [
        ImportedMessage("1", Role.USER, "Ilse", "Always list the sources. I like tea.", _WHEN),
        ImportedMessage("2", Role.ASSISTANT, "Assistant", "I prefer tables myself.", _WHEN),
        ImportedMessage("3", Role.USER, "Ilse", "I prefer rye bread over white bread.", _WHEN),
    ]
    chat = ImportedConversation("test", "c", "chat", ConversationKind.ASSISTANT, tuple(said))
    store.add_conversation(store.begin_import("x.json", "test", _WHEN), chat)
    derive_vectors(store, HashEmbedder())
    consolidate(store, HashEmbedder().model_id)
    return store


def test_only_the_owners_wishes_last_and_go_with_their_message(tmp_path: Path) -> None:
    with filled(tmp_path / "m.duckdb") as store:
        first, second = store.lasting()
        assert first.kind is LastingKind.WISH
        assert (first.text, first.value) == ("Always list the sources.", "standing")
        assert second.text.startswith("I prefer rye bread")
        assert as_told(first) == "The owner said on 2024-05-01: “Always list the sources.”"
        store.forget(ForgetTarget(messages=first.sources))
        assert [one.text for one in store.lasting()] == [second.text]
        assert store.orphans() == {}
        consolidate(store, HashEmbedder().model_id)
        assert [one.confirmations for one in store.lasting()] == [second.confirmations]


def test_views_tell_what_is_where_and_why(tmp_path: Path) -> None:
    with filled(tmp_path / "m.duckdb") as store:
        view = tiers_view(store)
        assert (view.gate, view.fit, view.counts.lasting) == (GateKind.PRIOR, 0, 2)
        episode = episode_view(store, view.episodes[0].id)
        assert episode.pages[0].decision.gate is GateKind.NONE
        assert "sources" in episode.pages[0].messages[0].text


def test_the_memory_gives_the_wishes_nearest_to_a_question(tmp_path: Path) -> None:
    filled(tmp_path / "m.duckdb").close()
    with build_memory(tmp_path / "m.duckdb") as memory:
        (first,) = memory.wishes("which bread, rye bread or white bread?", k=1)
        assert first.text.startswith("I prefer rye bread")
        assert len(memory.wishes("sources", k=9)) == 2
        assert memory.tiers().counts.lasting == 2
        assert memory.consolidate().pages == 0
        assert any(finding.subject == "episodes" for finding in memory.doctor())
    with build_memory(tmp_path / "empty.duckdb") as empty:
        assert empty.wishes("anything") == ()
        assert empty.consolidate().pages == 0


def test_the_commands_show_tiers_and_an_episode(tmp_path: Path) -> None:
    path = tmp_path / "m.duckdb"
    filled(path).close()
    shown = CliRunner().invoke(app, ["--memory", str(path), "tiers"])
    assert shown.exit_code == 0, shown.output
    assert "long term: 2 wishes of the owner" in shown.output
    assert "too few scores" in shown.output
    one = CliRunner().invoke(app, ["--memory", str(path), "episodes", "show", "1"])
    assert one.exit_code == 0, one.output
    assert "there was no other" in one.output
    assert "Always list the sources" in one.output
