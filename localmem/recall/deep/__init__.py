"""Depth `deep`: progressive disclosure (APDMem, section 3.2) within a budget.

A controller searches, opens layers from coarse to fine, reflects, and stops; notes are made of what
it opened, and an answer of the notes. Nothing here stores anything.
"""

from localmem.recall.deep.ask import DeepModels, DeepOptions, DeepQuestion, answer_deeply
from localmem.recall.deep.limits import Limits, Switches
from localmem.recall.deep.sources import Sources

__all__ = [
    "DeepModels",
    "DeepOptions",
    "DeepQuestion",
    "Limits",
    "Sources",
    "Switches",
    "answer_deeply",
]
