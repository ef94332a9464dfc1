"""Who said what about whom, what is true now, what was true before (AdaMem, section 3)."""
