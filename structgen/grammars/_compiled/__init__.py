"""Machine code for functions that are written as Python, kept on disk.

::

    @compiled, @inner, @inlined functions   `entries`: compiled when one of them is first called
      |  functions   what they are to Numba: types by their annotations
      |  emit        the inlined ones: what they compute is written into their callers
      |  build       Numba writes LLVM IR, which is optimised and compiled as a whole
      |  wrappers    how Python calls it
    object file --store--> disk, named after all that it depends on
      |  machine     into memory, by LLVM's loader alone: a start that finds the file imports no Numba
    functions
"""
