"""The CPU runner: a step of a model is one compiled call, run by a team of threads."""
