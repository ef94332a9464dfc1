"""Reads chat histories: a path in, conversations and problems out, streaming and pure.

Nothing here stores, indexes or extracts anything; formats are known by content, not by name.
"""

from localmem.importers.export import Export, FormatInfo, formats, open_export

__all__ = ["Export", "FormatInfo", "formats", "open_export"]
