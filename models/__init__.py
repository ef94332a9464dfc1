"""The model catalog and the small model files that ship with the program, as data."""
