"""Machine code for functions that are written as Python, kept on disk.

::

    @compiled, @inner, @inlined functions   `entries`: compiled when one of them is first called
      |  translate   Python to LLVM IR: statements, and `expressions`; `kinds` is what they compute with
      |  emit        the inlined ones: what they compute is written into their callers
      |  wrappers    how Python calls the compiled ones
      |  build       optimised and compiled as a whole
    object file --store--> disk, named after all that it depends on
      |  machine     into memory, by LLVM's loader alone
    functions
"""
