"""Models that no family of ours describes: ``transformers``' own modelling code, with our attention over pages.

The model's code runs as it is on the tokens of a whole step, one after the other as if they were one sequence, each
with its own position. Nothing in a decoder but attention joins tokens, and attention is ours (:mod:`.interface`): it
finds the rows in the step and their pages. What the code asks of attention, layer by layer, and whether tokens stay
apart everywhere else, is tried out once after loading (:mod:`.probe`).
"""
