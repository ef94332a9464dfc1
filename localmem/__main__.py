"""`python -m localmem` is the command `localmem`."""

from localmem.cli import main

main()
