"""From Python functions to one object file: Numba writes their LLVM IR, which is optimised and compiled as a whole.

By itself Numba optimises every function and makes machine code of it, with all that it calls, and again inside each of
its callers. But a pipeline chooses the library that a function's IR goes to, and ours only keeps it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from structgen.grammars._compiled.functions import compiled
from structgen.grammars._compiled.wrappers import add_allocator, add_wrapper

# Numba and llvmlite ship no types; everything that they give passes through here once.
_binding: Any = importlib.import_module("llvmlite.binding")
_ir: Any = importlib.import_module("llvmlite.ir")
_codegen: Any = importlib.import_module("numba.core.codegen")
_compiler: Any = importlib.import_module("numba.core.compiler")
_cpu: Any = importlib.import_module("numba.core.registry").cpu_target

__all__ = ["Pipeline", "build"]

_UNRESOLVED = ".numba.unresolved$"
_EXTERNALS = ("llvm.", "Py", "_Py", "structgen_")
_UNNEEDED_PASSES = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteSemanticConstants",
    "DeadBranchPrune",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "NoPythonSupportedFeatureValidation",
    "DumpParforDiagnostics",
}
"""For what our functions do without: closures, context managers, overloads to inline, pruned branches."""

_results: dict[str, Any] = {}
_LIBC = {"malloc", "free", "memset", "memcpy", "memmove"}


class _Body(_codegen.JITCodeLibrary):
    """The IR of one function, neither optimised nor compiled."""

    def add_llvm_module(self, module: Any) -> None:
        self._final_module.link_in(module)

    def finalize(self) -> None:
        self._finalized = True


class Pipeline(_compiler.Compiler):
    """Numba's own, into a `_Body`, less the passes for what our functions do without."""

    def define_pipelines(self) -> list[Any]:
        numba: Any = super()
        pipelines = numba.define_pipelines()
        for pipeline in pipelines:
            pipeline.passes[:] = [one for one in pipeline.passes if one[0].__name__ not in _UNNEEDED_PASSES]
        return pipelines

    def compile_extra(self, function: Callable[..., object]) -> Any:
        self.state.library = _Body(self.state.targetctx.codegen(), function.__qualname__)
        self.state.flags.no_compile = True
        numba: Any = super()
        result = numba.compile_extra(function)
        # Numba finds a callee by what Python would call, which must be a built-in function and its alone.
        result = result._replace(entry_point=cast("list[Any]", []).append)
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        _results[result.fndesc.llvm_func_name] = result
        return result


def build(entries: Mapping[str, Callable[..., object]]) -> bytes:
    """An object file with what Python can call for each of ``entries``, under these names (see `wrappers`)."""
    results = {name: compiled(entry) for name, entry in entries.items()}
    codegen = _cpu.target_context.codegen()
    library = codegen.create_library("structgen")
    module = library._final_module
    _link(module, [result.library for result in results.values()], set())
    glue = library.create_ir_module("structgen_glue")
    for name, result in results.items():
        add_wrapper(glue, name, result.target_context, result.fndesc)
    add_allocator(glue)
    _resolve_recursion(module, glue)
    module.link_in(_binding.parse_assembly(str(glue)))
    for one in (*module.functions, *module.global_variables):
        if not one.is_declaration and one.name not in entries:
            one.linkage = "internal"  # the optimiser may do what it likes with it
    library._optimize_final_module()
    module.verify()
    _check_externals(module)
    return codegen._tm.emit_object(module)


def _link(module: Any, libraries: Iterable[Any], seen: set[int]) -> None:
    """Link in what ``libraries`` hold and what they call."""
    for library in libraries:
        if id(library) in seen:
            continue
        seen.add(id(library))
        if isinstance(library, _Body):
            module.link_in(library._final_module, preserve=True)
            _link(module, library._linking_libraries, seen)
        else:  # one of Numba's own, which holds all that it calls
            module.link_in(library._get_module_for_linking(), preserve=True)


def _resolve_recursion(module: Any, glue: Any) -> None:
    """Numba has a function call itself through a variable, and sets that when the function is in memory."""
    for variable in module.global_variables:
        if variable.name.startswith(_UNRESOLVED):
            result = _results[variable.name[len(_UNRESOLVED) :]]
            declared = result.target_context.declare_function(glue, result.fndesc)
            pointer = _ir.IntType(8).as_pointer()
            defined = _ir.GlobalVariable(glue, pointer, variable.name)
            defined.initializer = declared.bitcast(pointer)
            defined.global_constant = True


def _check_externals(module: Any) -> None:
    """Machine code is loaded without Numba: it can call Python and C, and nothing of Numba's."""
    for one in (*module.functions, *module.global_variables):
        if one.is_declaration and not one.name.startswith(_EXTERNALS) and one.name not in _LIBC:
            raise NotImplementedError(f"compiled code needs {one.name}, which is Numba's")
