"""The interpreter: one compiled call runs a program, or a part of one, as a member of a team."""

from __future__ import annotations

from structgen._compiled.kernel import I64, Address, cycles, has, write
from structgen.engine.cpu._jit import compiled, inner
from structgen.engine.cpu.kernels.access import meet, number
from structgen.engine.cpu.kernels.activations import FLOATS, GROUPS, PAIRS, QUADS, QUADS_SIGNED
from structgen.engine.cpu.kernels.attention import attend
from structgen.engine.cpu.kernels.heads import project
from structgen.engine.cpu.kernels.linear import SHORT_FLOATS, linear
from structgen.engine.cpu.kernels.rows import add, cap, embed, gate, norm, quantize
from structgen.engine.cpu.layout import OPERANDS, PROFILE, TICKS

__all__ = ["ADD", "ATTEND", "CAP", "EMBED", "GATE", "LINEAR", "NORM", "PROJECT", "QUANTIZE", "run_program"]

EMBED, NORM, GATE, QUANTIZE, ADD, CAP = range(6)
PROJECT, ATTEND, LINEAR = 8, 16, 24
"""Codes of families: an element's size, or a form, is added."""


@compiled
def run_program(program: int, operations: int, step: int, member: int) -> None:
    """Run operations one after the other, together with the team's other members.

    Parameters
    ----------
    program : int
        Address of the first operation.
    operations : int
        How many.
    step : int
        Address of the step (see `layout`).
    member : int
        Which member of the team this is, from 0.
    """
    profile, begin = number(step, PROFILE), cycles()
    for place in range(operations):
        operands = program + 8 * OPERANDS * place
        run_operation(number(operands, 0), operands, step, member)
        if number(operands, 1):
            meet(step)
        if profile and member == 0:
            write(I64, profile + 8 * place, cycles())
    if member == 0:
        write(I64, step + 8 * TICKS, cycles() - begin)


@inner
def run_operation(code: int, operands: Address, step: Address, member: int) -> None:
    """One operation."""
    if code < PROJECT:
        run_by_row(code, operands, step, member)
    elif code == PROJECT + 4:
        project(4, operands, step, member)
    elif code == PROJECT + 2:
        project(2, operands, step, member)
    elif code == PROJECT + 1:
        project(1, operands, step, member)
    elif code == ATTEND + 4:
        attend(4, operands, step, member)
    elif code == ATTEND + 2:
        attend(2, operands, step, member)
    elif code == ATTEND + 1:
        attend(1, operands, step, member)
    else:
        run_linear(code - LINEAR, operands, step, member)


@inner
def run_by_row(code: int, operands: Address, step: Address, member: int) -> None:
    """An operation row by row."""
    if code == EMBED:
        embed(operands, step, member)
    elif code == NORM:
        norm(operands, step, member)
    elif code == GATE:
        gate(operands, step, member)
    elif code == QUANTIZE:
        quantize(operands, step, member)
    elif code == ADD:
        add(operands, step, member)
    else:
        cap(operands, step, member)


@inner
def run_linear(form: int, operands: Address, step: Address, member: int) -> None:
    """A linear layer; of the integer forms only those that the processor has instructions for."""
    if form == FLOATS:
        linear(FLOATS, operands, step, member)
    elif form == SHORT_FLOATS:
        linear(SHORT_FLOATS, operands, step, member)
    elif form == PAIRS:
        linear(PAIRS, operands, step, member)
    elif form == GROUPS:
        linear(GROUPS, operands, step, member)
    elif has("avx512vnni"):
        linear(QUADS, operands, step, member)
    elif has("dotprod"):
        linear(QUADS_SIGNED, operands, step, member)
