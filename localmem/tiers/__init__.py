"""Episodes that organise themselves: pages, the gate, structures, the selector, what lasts.

FluxMem's lens over the messages. Everything in here is derived from pages that come in as
arguments; nothing in here reads a file of a memory, loads a model or writes.
"""
