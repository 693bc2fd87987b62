"""From Python functions to one object file."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Mapping
from typing import Any

from structgen._compiled.machine import is_there, start_llvm
from structgen._compiled.runtime import add_runtime
from structgen._compiled.translate import Unit
from structgen._compiled.wrappers import add_wrapper

# llvmlite ships no types; everything that it gives passes through here once.
_binding: Any = importlib.import_module("llvmlite.binding")
_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["build"]


def build(entries: Mapping[str, Callable[..., object]]) -> bytes:
    """An object file with what Python can call for each of ``entries``, under these names (see `wrappers`)."""
    start_llvm()
    module = _ir.Module("structgen")
    module.triple = _binding.get_process_triple()
    host = _host()
    module.data_layout = str(host.target_data)
    unit = Unit(module)
    callees = unit.add(entries)
    for name, callee in callees.items():
        add_wrapper(module, name, unit, callee)
    add_runtime(module)
    parsed = _binding.parse_assembly(str(module))
    parsed.verify()
    _optimise(parsed, host)
    for one in (*parsed.functions, *parsed.global_variables):
        if one.is_declaration and not one.name.startswith("llvm.") and not is_there(one.name):
            raise LookupError(f"compiled code needs {one.name}")
    return host.emit_object(parsed)


def _host() -> Any:
    """The processor we run on, for code that is loaded where there is room."""
    target = _binding.Target.from_triple(_binding.get_process_triple())
    return target.create_target_machine(
        cpu=_binding.get_host_cpu_name(),
        features=_binding.get_host_cpu_features().flatten(),
        opt=2,
        reloc="static" if platform.machine().lower() in ("x86_64", "amd64") else "default",
        codemodel="jitdefault",
        jit=True,
    )


def _optimise(module: Any, host: Any) -> None:
    options = _binding.create_pipeline_tuning_options(speed_level=2)
    passes = _binding.create_pass_builder(host, options)
    passes.getModulePassManager().run(module, passes)
