"""The one truth on disk: raw messages, what was derived from them, and who may use the file now.

All SQL stands here, and nothing else imports duckdb.
"""

from localmem.store.columns import Changes, MessageColumns, VectorColumns
from localmem.store.fact_pages import FactText, FactTexts, FactVectors
from localmem.store.grouping import SESSION_GAP, split_sessions
from localmem.store.store import Store

__all__ = [
    "SESSION_GAP",
    "Changes",
    "FactText",
    "FactTexts",
    "FactVectors",
    "MessageColumns",
    "Store",
    "VectorColumns",
    "split_sessions",
]
