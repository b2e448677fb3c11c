"""How results are shown to people: documents in, text out."""
