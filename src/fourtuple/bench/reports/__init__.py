"""A comparison as text, mail, JSON, CSV, page and picture."""
