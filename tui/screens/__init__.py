"""One module for each screen. They know `Memory`, not each other, but for the ones they open."""
