"""Call formats: how a family of models is told about tools, and how it writes a call."""
