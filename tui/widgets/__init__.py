"""Parts that several screens use. They know no screen and no app."""
