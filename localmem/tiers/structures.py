"""Builds the structure of an episode by its kind."""

from __future__ import annotations

from localmem.ports import Structure
from localmem.tiers.graph import GraphStructure
from localmem.tiers.hierarchical import HierarchicalStructure
from localmem.tiers.linear import LinearStructure
from localmem.tiers.relevance import EpisodePages
from localmem.types import StructureKind


def build_structure(kind: StructureKind, pages: EpisodePages) -> Structure:
    """The structure of that kind over these pages."""
    if kind is StructureKind.GRAPH:
        return GraphStructure(pages)
    if kind is StructureKind.HIERARCHICAL:
        return HierarchicalStructure(pages)
    return LinearStructure(pages)
