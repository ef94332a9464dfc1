"""The PersonaMem benchmark on an invented person: drawing, cuts, arms, rotations, rows, figures."""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.answers import add_arguments
from benchmarks.compare import paired_choices
from benchmarks.personamem import (
    ChoiceRow,
    Shown,
    choose_letter,
    choose_reply,
    evidence_of,
    read_choices,
    run_choices,
    summary,
)
from benchmarks.personamem_data import (
    PersonaMemories,
    PersonaQuestion,
    contexts_beside,
    draw_by_kind,
    persona_questions,
)
from localmem.testing import ScriptedLlm, build_memory

CONTEXT = "a" * 64
TURNS = [
    {"role": "system", "content": "Current user persona: Ilse, a potter."},
    {"role": "user", "content": "User: I started pottery in 2019 and I love the wheel."},
    {"role": "assistant", "content": "Assistant: Pottery is a wonderful craft for the patient."},
    {
        "role": "user",
        "content": "User: I gave up choir singing because the evenings were too long.",
    },
    {"role": "assistant", "content": "Assistant: Choirs do take up evenings."},
    {"role": "system", "content": "Current user persona: Ilse, a potter."},
    {"role": "user", "content": "User: I sold my wheel, pottery hurts my wrists by now."},
    {"role": "assistant", "content": "Assistant: Sorry about your wrists."},
]
OPTIONS = ("You love pottery.", "You gave pottery up.", "You never tried it.", "You paint.")


def question(**changes: object) -> PersonaQuestion:
    asked = PersonaQuestion("q1", "recall", "I saw a pottery class.", OPTIONS, 1, CONTEXT, 8)
    return replace(asked, **changes)  # type: ignore[arg-type]  # test data


def row(key: str, *, right: bool, kind: str = "recall") -> ChoiceRow:
    return ChoiceRow(
        key=key,
        kind=kind,
        question="?",
        gold=0,
        chosen=0 if right else 1,
        right=right,
        shares=(0.4, 0.2, 0.2, 0.2) if right else (0.2, 0.4, 0.2, 0.2),
        first_letter=0.25,
        rotations=4,
        exact=True,
        evidence_tokens=100,
        said=5,
        search_seconds=0.1,
        seconds=1.0,
        model_id="m@1",
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of three questions with its contexts beside it."""
    path = tmp_path / "questions_small.csv"
    labelled = [f"({label}) {text}" for label, text in zip("abcd", OPTIONS, strict=True)]
    columns = [
        "question_id",
        "question_type",
        "user_question_or_message",
        "correct_answer",
        "all_options",
        "shared_context_id",
        "end_index_in_shared_context",
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        asked = "User: I saw a pottery class."
        out.writerow(["q1", "recall", asked, "(b)", json.dumps(labelled), CONTEXT, 8])
        out.writerow(["q2", "recall", asked, "(a)", repr(labelled), CONTEXT, 3])
        out.writerow(["q3", "ideas", asked, "(d)", repr(labelled), CONTEXT, 3])
    contexts = tmp_path / "shared_contexts_small.jsonl"
    contexts.write_text(json.dumps({CONTEXT: TURNS}) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def memories(tmp_path: Path) -> PersonaMemories:
    folder = tmp_path / "memories"
    folder.mkdir()
    return PersonaMemories(folder, {CONTEXT: TURNS}, build_memory)


def arguments(data: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    out = str(data.parent / "out.json")
    return parser.parse_args(["--dataset", "personamem", "--data", str(data), "--json", out, *more])


def test_questions_are_read_with_options_written_as_json_or_as_python(data: Path) -> None:
    questions = persona_questions(data)
    assert [q.gold for q in questions] == [1, 0, 3]
    assert all(q.options == OPTIONS for q in questions)
    assert questions[0].text == "I saw a pottery class."
    assert contexts_beside(data).name == "shared_contexts_small.jsonl"


def test_a_drawing_keeps_the_share_of_each_kind_and_repeats_with_its_seed() -> None:
    many = [question(key=f"r{n}") for n in range(60)]
    few = [question(key=f"i{n}", kind="ideas") for n in range(30)]
    drawn = draw_by_kind([*many, *few], 10, 7)
    assert Counter(q.kind for q in drawn) == {"recall": 7, "ideas": 3}
    assert drawn == draw_by_kind([*many, *few], 10, 7)
    assert draw_by_kind(many, None, 7) == many


def test_a_memory_holds_what_was_said_before_the_question_and_no_more(
    memories: PersonaMemories,
) -> None:
    early = [m.text for m in memories.at(question(end=3)).store.shown_messages()]
    assert len(early) == 2 and "2019" in early[0]
    late = [m.text for m in memories.at(question(end=8)).store.shown_messages()]
    assert len(late) == 6 and late[:2] == early
    memories.close()


def test_a_memory_is_made_once_and_used_again(memories: PersonaMemories, tmp_path: Path) -> None:
    first = memories.at(question()).path
    memories.close()
    stamp = first.stat().st_ino
    assert PersonaMemories(tmp_path / "memories", {}, build_memory).at(question()).path == first
    assert first.stat().st_ino == stamp
    assert {file.suffix for file in (tmp_path / "memories").iterdir()} <= {
        ".duckdb",
        ".lock",
        ".turn",
    }


def test_a_liking_for_a_letter_cancels_out_over_the_rotations() -> None:
    liked = (0.7, 0.1, 0.1, 0.1)
    weak = (0.62, 0.1, 0.1, 0.18)
    # Option 1 stands at places 1, 0, 3, 2 and is a little likelier there than others would be.
    choices = [(0.66, 0.14, 0.1, 0.1), (0.76, 0.08, 0.08, 0.08), weak, (0.66, 0.1, 0.14, 0.1)]
    assert choose_letter(question(), Shown("", 0, 0.0), ScriptedLlm(choices=choices)).chosen == 1
    once = choose_letter(question(), Shown("", 0, 0.0), ScriptedLlm(choices=[liked]), rotations=1)
    assert once.chosen == 0 and not once.right


def test_every_option_stands_once_at_every_letter_and_the_memory_comes_first() -> None:
    llm = ScriptedLlm(fallback_choice=0)
    found = choose_letter(question(), Shown("<memory>\nx\n</memory>", 1, 0.0), llm)
    assert found.shares == (0.25, 0.25, 0.25, 0.25) and found.rotations == 4
    texts = [call.messages[-1].content for call in llm.history]
    for option in OPTIONS:
        assert {text.split(option)[0][-3] for text in texts} == set("ABCD")
    kept = texts[0].index("A. ")
    assert len({text[:kept] for text in texts}) == 1 and "<memory>" in texts[0][:kept]


def test_what_counts_is_how_much_more_probable_the_evidence_makes_a_reply() -> None:
    alone, informed = (0.7, 0.1, 0.1, 0.1), (0.6, 0.25, 0.1, 0.05)
    shown = Shown("<memory>\nx\n</memory>", 1, 0.0)
    llm = ScriptedLlm(choices=[alone, informed])
    found = choose_reply(question(), shown, llm)
    assert found.chosen == 1 and found.right
    assert [math.exp(value) for value in found.alone] == pytest.approx(alone, abs=1e-3)
    texts = [call.messages[-1].content for call in llm.history]
    assert ["<memory>" in text for text in texts] == [False, True]
    again = ScriptedLlm(choices=[informed])
    once = choose_reply(question(), shown, again, alone=found.alone)
    assert once.shares == pytest.approx(found.shares, abs=1e-4) and len(again.history) == 1
    without = choose_reply(question(), Shown("", 0, 0.0), ScriptedLlm(choices=[alone]))
    assert without.chosen == 0 and without.alone == found.alone


def test_a_run_takes_the_probabilities_without_a_memory_from_another_arms_rows(data: Path) -> None:
    run_choices(arguments(data, "--arm", "none"), ScriptedLlm(fallback_choice=0), build_memory)
    none = data.parent / "out.jsonl"
    kept = none.rename(data.parent / "none.jsonl")
    llm = ScriptedLlm(fallback_choice=1)
    run_choices(arguments(data, "--alone", str(kept)), llm, build_memory)
    assert len(llm.history) == 3
    report = json.loads((data.parent / "out.json").read_text(encoding="utf-8"))
    assert report["accuracy"] == pytest.approx(1 / 3, abs=1e-3)
    with pytest.raises(SystemExit, match="with this model"):
        run_choices(arguments(data, "--alone", str(data.parent / "gone.jsonl")), llm, build_memory)
    with pytest.raises(SystemExit, match="another --read"):
        run_choices(arguments(data, "--resume", "--read", "letters"), llm, build_memory)


def test_the_products_evidence_is_the_persons_own_words(memories: PersonaMemories) -> None:
    memory, llm = memories.at(question()), ScriptedLlm()
    own = evidence_of(question(), memory, "localmem", llm, 800)
    assert "wrists" in own.block and "Sorry about" not in own.block
    plain = evidence_of(question(), memory, "bm25", llm, 800)
    assert "wonderful craft" in plain.block
    for arm in ("localmem", "bm25", "dense"):
        short = evidence_of(question(), memory, arm, llm, 20)
        assert llm.count_tokens(short.block) <= 20
    with pytest.raises(ValueError, match="no arm"):
        evidence_of(question(), memory, "guess", llm, 800)
    memories.close()


def test_a_run_that_stopped_goes_on_where_its_rows_end(data: Path) -> None:
    kept = str(data.parent / "kept")
    args = arguments(data, "--memories", kept, "--resume", "--read", "letters")
    run_choices(args, ScriptedLlm(fallback_choice=0), build_memory)
    rows_file = args.out.with_suffix(".jsonl")
    lines = rows_file.read_text(encoding="utf-8").splitlines(True)
    assert len(lines) == 3
    rows_file.write_text(lines[0] + lines[1][:20], encoding="utf-8")
    again = ScriptedLlm(fallback_choice=0)
    run_choices(args, again, build_memory)
    assert len(again.history) == 2 * 4
    report = json.loads(args.out.read_text(encoding="utf-8"))
    assert report["n"] == 3 and report["by_type"]["recall"]["n"] == 2
    assert report["most_evidence_tokens"] <= 800


def test_without_memory_nothing_is_imported(data: Path) -> None:
    for read, told in (("letters", "Nothing is remembered"), ("replies", "The user says")):
        args = arguments(data, "--arm", "none", "--limit", "1", "--read", read)
        llm = ScriptedLlm(fallback_choice=0)
        run_choices(args, llm, build_memory)
        assert told in llm.history[0].text
    assert not list(data.parent.glob("**/*.duckdb"))


def test_accuracy_is_told_over_all_and_by_type(tmp_path: Path) -> None:
    rows = [row("a", right=True), row("b", right=False), row("c", right=True, kind="ideas")]
    figures = summary(rows)
    assert figures["accuracy"] == pytest.approx(0.6667)
    assert figures["by_type"]["ideas"]["accuracy"] == 1.0
    assert figures["mean_of_types"] == 0.75
    assert read_choices(tmp_path / "none.jsonl") == {}


def test_two_runs_are_compared_in_accuracy_on_the_questions_that_both_answered() -> None:
    before = {f"q{n}": row(f"q{n}", right=n % 4 == 0) for n in range(20)}
    after = {f"q{n}": row(f"q{n}", right=n % 4 != 3) for n in range(1, 21)}
    report = paired_choices(before, after)
    assert report["all"]["questions"] == 19
    assert report["all"]["accuracy_gain"] == pytest.approx(10 / 19, abs=1e-4)
    assert report["all"]["interval_95"][0] > 0
    assert report["recall"] == report["all"]
