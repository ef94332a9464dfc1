"""`python -m benchmarks COMMAND`: every number in the documents comes from one of these."""

from __future__ import annotations

import argparse
import importlib
import sys

COMMANDS = {
    "retrieval": ("benchmarks.retrieval", "recall of gold messages and sessions, speed"),
    "train-fusion": ("benchmarks.train_fusion", "learn the shipped fusion weights"),
    "gate": ("benchmarks.gate", "the Beta gate on known mixtures and on labelled histories"),
    "lens": ("benchmarks.lens", "retrieval with episodes as a lens, against the same without"),
    "wishes": ("benchmarks.wishes", "whether the owner's standing wishes are at hand"),
    "train-selector": ("benchmarks.train_selector", "learn which structure fits an episode"),
    "answers": ("benchmarks.answers", "token F1 of answers"),
    "items": ("benchmarks.items", "what is known of people, and the source check"),
    "facts": ("benchmarks.facts", "facts and notes against LoCoMo's observations"),
    "speed": ("benchmarks.speed", "importing and finding against their own yardsticks"),
    "ablation": ("benchmarks.ablation", "the deep depth with its parts switched off"),
    "compare": ("benchmarks.compare", "paired intervals between two runs of answers"),
    "screenshots": ("benchmarks.screenshots", "the pictures of the docs, from the sample history"),
    "tui": ("benchmarks.tui", "first paint and frames of the terminal app on a large memory"),
    "engines": ("benchmarks.engines", "language-model engines side by side"),
}


def main(arguments: list[str]) -> int:
    """Runs the named command; its module is imported only then."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (_, summary) in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    chosen = parser.parse_args(arguments[:1]).command
    module = importlib.import_module(COMMANDS[chosen][0])
    own = argparse.ArgumentParser(prog=f"python -m benchmarks {chosen}")
    module.add_arguments(own)
    return int(module.run(own.parse_args(arguments[1:])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
