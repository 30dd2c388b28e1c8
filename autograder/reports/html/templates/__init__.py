"""Templates and style sheets of the pages, read as package data."""
