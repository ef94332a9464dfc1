"""Finding by words and by vectors: indexes that take (id, text or vector) and give back bytes.

An index is derived: it can be rebuilt from stored rows at any time. Nothing here knows the store.
"""
