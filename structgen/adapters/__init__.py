"""structgen's grammars inside other engines: `transformers`, llama-cpp-python, vLLM and SGLang.

Each module needs only its own engine, if any::

    structgen.adapters.transformers   GrammarLogitsProcessor, for `model.generate`
    structgen.adapters.llama_cpp      LlamaLogitsProcessor, for `llama_cpp.Llama`
    structgen.adapters.vllm           VllmGrammar and VllmBackend, with vLLM's structured-output surface
    structgen.adapters.sglang         SglangGrammar, with SGLang's grammar surface

All of them take a `structgen.grammars.TokenAutomaton`, compiled against the vocabulary of the engine's tokenizer.
"""
