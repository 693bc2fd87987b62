"""What is known while a function is translated: numbers that constants give, and what an ``if`` over them decides."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

from structgen._compiled.entries import Instruction
from structgen._compiled.kinds import BOOL, Value

_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["FOLDED", "FOLDED_COMPARISONS", "Known"]

FOLDED_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "Eq": int.__eq__, "NotEq": int.__ne__, "Lt": int.__lt__, "LtE": int.__le__, "Gt": int.__gt__, "GtE": int.__ge__,
}  # fmt: skip
FOLDED: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__,
    "Sub": int.__sub__,
    "Mult": int.__mul__,
    "FloorDiv": int.__floordiv__,
    "Mod": int.__mod__,
}


class Known:
    """Finds constants in expressions."""

    callee: Any
    variables: dict[str, Any]
    constants: dict[str, Value]

    def value(self, node: ast.expr) -> Value:
        """Write an expression."""
        raise NotImplementedError

    def called(self, node: ast.expr) -> Any:
        """What a call calls, in Python."""
        raise NotImplementedError

    def known_truth(self, node: ast.expr) -> bool | None:
        """Whether a condition holds that constants decide; ``None`` where they do not."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            left, right = self._known(node.left), self._known(node.comparators[0])
            if left is not None and right is not None:
                return FOLDED_COMPARISONS[type(node.ops[0]).__name__](left, right)
        if isinstance(node, ast.Call) and isinstance(self.called(node.func), Instruction):
            truth = self.value(node)
            if truth.kind == BOOL and isinstance(truth.parts[0], _ir.Constant):
                return bool(truth.parts[0].constant)
        return None

    def _known(self, node: ast.expr) -> int | None:
        if isinstance(node, ast.Name) and node.id in self.constants:
            return int(self.constants[node.id].parts[0].constant)
        if isinstance(node, ast.Name) and node.id not in self.variables:
            known = self.callee.lookup(node.id)
            return known if isinstance(known, int) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op).__name__ in FOLDED:
            left, right = self._known(node.left), self._known(node.right)
            if left is not None and right is not None:
                return FOLDED[type(node.op).__name__](left, right)
        return None
