"""From Python functions to one object file."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from structgen._compiled.machine import is_there, start_llvm
from structgen._compiled.runtime import add_runtime
from structgen._compiled.translate import Unit
from structgen._compiled.wrappers import add_wrapper

# llvmlite ships no types; everything that it gives passes through here once.
_binding: Any = importlib.import_module("llvmlite.binding")
_ir: Any = importlib.import_module("llvmlite.ir")

__all__ = ["Processor", "assembly", "build", "host"]


class Processor(NamedTuple):
    """What machine code is for, in LLVM's words."""

    triple: str
    name: str
    features: str
    """``+avx2,-avx512f`` and so on."""

    @property
    def has(self) -> frozenset[str]:
        """The features that it has."""
        return frozenset(one[1:] for one in self.features.split(",") if one.startswith("+"))


def host() -> Processor:
    """The processor we run on."""
    return Processor(
        _binding.get_process_triple(),
        str(_binding.get_host_cpu_name()),
        str(_binding.get_host_cpu_features().flatten()),
    )


def build(entries: Mapping[str, Callable[..., object]]) -> bytes:
    """An object file with what Python can call for each of ``entries``, under these names (see `wrappers`)."""
    machine = _machine(host())
    module = _translated(entries, host(), machine)
    for one in (*module.functions, *module.global_variables):
        if one.is_declaration and not one.name.startswith("llvm.") and not is_there(one.name):
            raise LookupError(f"compiled code needs {one.name}")
    return machine.emit_object(module)


def assembly(entries: Mapping[str, Callable[..., object]], processor: Processor) -> str:
    """The machine code of ``entries`` for some processor, to be read."""
    _binding.initialize_all_targets()
    _binding.initialize_all_asmprinters()
    machine = _machine(processor)
    return str(machine.emit_assembly(_translated(entries, processor, machine)))


def _translated(entries: Mapping[str, Callable[..., object]], processor: Processor, machine: Any) -> Any:
    """The optimised module."""
    start_llvm()
    module = _ir.Module("structgen")
    module.triple = processor.triple
    module.data_layout = str(machine.target_data)
    unit = Unit(module, processor.has)
    callees = unit.add(entries)
    for name, callee in callees.items():
        add_wrapper(module, name, unit, callee)
    add_runtime(module)
    parsed = _binding.parse_assembly(str(module))
    parsed.verify()
    _optimise(parsed, machine)
    return parsed


def _machine(processor: Processor) -> Any:
    """For code that is loaded where there is room."""
    start_llvm()
    return _binding.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.name,
        features=processor.features,
        opt=2,
        reloc="static" if platform.machine().lower() in ("x86_64", "amd64") else "default",
        codemodel="jitdefault",
        jit=True,
    )


def _optimise(module: Any, machine: Any) -> None:
    options = _binding.create_pipeline_tuning_options(speed_level=2)
    passes = _binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
