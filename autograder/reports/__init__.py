"""How results are shown to people: terminal, JSON, and (for classes) HTML."""
