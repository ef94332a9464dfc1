"""The parts of `Store`, by theme. Every method takes the lease, does its work, gives it back.

`items` here is wiring for the modules of the store that hold the SQL, and so are the others.
"""
