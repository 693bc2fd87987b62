"""What an answer of the compiled path does not wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from gguf_files import CONFIG, llama_tensors, tokenizer_fields, write_gguf

ANSWERS = """
import sys
sys.modules.update(dict.fromkeys(("torch", "transformers")))  # importing one now raises
from structgen import LLM, SamplingParams
with LLM(sys.argv[1], quantization=sys.argv[2]) as llm:
    params = SamplingParams(max_tokens=5, ignore_eos=True, logprobs=2, prompt_logprobs=1)
    answer = llm.generate("abc", chat_template=False, sampling_params=params, return_details=True)
    print(answer.usage.completion_tokens)
"""


def test_a_gguf_file_answers_where_torch_is_not_installed(tmp_path: Path):
    letters = [chr(33 + place) for place in range(CONFIG["vocab_size"])]
    vocabulary = tokenizer_fields("gpt2", letters, [1] * len(letters), merges=[], pre="smollm")
    path = write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(), fields=vocabulary)
    for quantization in ("fp32", "int4"):
        command = [sys.executable, "-W", "ignore", "-c", ANSWERS, str(path), quantization]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.stdout == "5\n", done.stderr
