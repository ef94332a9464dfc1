"""The coarser layers of a turn: how each is made and read back. Storing is the store's work."""
