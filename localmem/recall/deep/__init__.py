"""Depth `deep`: progressive disclosure (APDMem, section 3.2) within a budget.

A controller searches, opens layers from coarse to fine, reflects, and stops; notes are made of what
it opened, and an answer of the notes. Nothing here stores anything.
"""
