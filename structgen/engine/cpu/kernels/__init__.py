"""The operations of a step, as compiled functions of one signature: (operands, step, member)."""
