from __future__ import annotations

import contextlib
import struct
import tracemalloc

import numpy as np
import pytest
from gguf import GGMLQuantizationType, TokenType
from gguf_files import llama_tensors, tokenizer_fields, write_gguf

from structgen.engine.weights import open_checkpoint
from structgen.engine.weights.gguf_file import GgufFile
from structgen.errors import InvalidModelFile, StructgenError, UnsupportedModel

HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, fields


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with everything: numbers, strings, arrays, a tokenizer, quantized tensors."""
    tokens = ["<unk>", "a", "b", "ab", "<0x0A>"]
    types = [TokenType.UNKNOWN, *[TokenType.NORMAL] * 3, TokenType.BYTE]
    fields = tokenizer_fields("llama", tokens, types, scores=[0.0, 0.0, -1.0, -2.0, 0.0], bos_token_id=1)
    path = tmp_path_factory.mktemp("whole") / "m.gguf"
    return write_gguf(path, tensors=llama_tensors(), kind=GGMLQuantizationType.Q8_0, fields=fields)


def read_everything(path):
    with open_checkpoint(path) as checkpoint:
        for name in checkpoint.names():
            checkpoint.tensor(name)
        checkpoint.tokenizer()
        return checkpoint.metadata, checkpoint.eos_token_ids, checkpoint.chat_template()


def test_a_file_cut_anywhere_is_refused_when_it_is_opened(whole, tmp_path):
    content = whole.read_bytes()
    end = max(tensor.start + tensor.size for tensor in GgufFile(whole).tensors.values())
    header = min(tensor.start for tensor in GgufFile(whole).tensors.values())
    cut = tmp_path / "cut.gguf"
    for size in [*range(0, header, 7), *range(header, end, 4001), end - 1]:
        cut.write_bytes(content[:size])
        with pytest.raises(InvalidModelFile, match=r"cut\.gguf: .*get the file again"):
            open_checkpoint(cut)
    cut.write_bytes(content[:end])
    read_everything(cut)


def test_a_header_of_random_damage_is_read_or_refused_and_nothing_else(whole, tmp_path):
    content = whole.read_bytes()
    header = min(tensor.start for tensor in GgufFile(whole).tensors.values())
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        damaged = bytearray(content)
        for place in generator.integers(0, header, generator.integers(1, 4)):
            damaged[place] = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.integers(256)])
        (tmp_path / "damaged.gguf").write_bytes(damaged)
        try:
            read_everything(tmp_path / "damaged.gguf")
        except StructgenError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("counts", "reason"),
    [((2**63, 1), "truncated"), ((1, 2**63), "truncated"), ((10**9, 10**9), "truncated")],
)
def test_absurd_counts_are_refused_before_anything_is_allocated(whole, tmp_path, counts, reason):
    path = tmp_path / "absurd.gguf"
    path.write_bytes(HEADER.pack(b"GGUF", 3, *counts) + whole.read_bytes()[HEADER.size :])
    assert refuses_without_allocating(path, reason)


@pytest.mark.parametrize("kind", [4, 8, 7], ids=["numbers", "strings", "booleans"])
def test_an_array_larger_than_the_file_is_refused_before_anything_is_allocated(tmp_path, kind):
    path = tmp_path / "array.gguf"
    field = struct.pack("<Q3sIIQ", 3, b"key", 9, kind, 2**40)
    path.write_bytes(HEADER.pack(b"GGUF", 3, 0, 1) + field + bytes(1000))
    assert refuses_without_allocating(path, "truncated: key needs")


def refuses_without_allocating(path, reason):
    tracemalloc.start()
    try:
        with pytest.raises(InvalidModelFile, match=reason):
            open_checkpoint(path)
        return tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_another_file_is_not_taken_for_gguf(tmp_path):
    (tmp_path / "page.gguf").write_bytes(b"<!DOCTYPE html><html>not found</html>")
    with pytest.raises(InvalidModelFile, match=r"page\.gguf: not a GGUF file: it begins with b'<!DO'"):
        open_checkpoint(tmp_path / "page.gguf")


@pytest.mark.parametrize(("version", "reason"), [(1, "version 1"), (99, "version 99"), (3 << 24, "big-endian")])
def test_other_versions_and_byte_orders_are_named(whole, tmp_path, version, reason):
    path = tmp_path / "version.gguf"
    path.write_bytes(HEADER.pack(b"GGUF", version, 1, 1) + whole.read_bytes()[HEADER.size :])
    with pytest.raises(UnsupportedModel, match=reason):
        open_checkpoint(path)


def write_one_tensor(path, *, shape=(32,), kind=0, offset=0, dimensions=None):
    """A file of one tensor, written by hand, so that it can be wrong."""
    key, architecture, name = b"general.architecture", b"llama", b"t"
    content = HEADER.pack(b"GGUF", 3, 1, 1)
    content += struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(architecture)) + architecture
    content += struct.pack("<Q", len(name)) + name + struct.pack("<I", dimensions or len(shape))
    content += struct.pack(f"<{len(shape)}QIQ", *shape, kind, offset)
    path.write_bytes(content + bytes(4096))
    return path


def test_the_file_written_by_hand_is_well_formed(tmp_path):
    with open_checkpoint(write_one_tensor(tmp_path / "t.gguf")) as checkpoint:
        assert checkpoint.tensor("t").tolist() == [0.0] * 32


@pytest.mark.parametrize(
    ("wrong", "error", "reason"),
    [
        ({"kind": 77}, UnsupportedModel, "type number 77"),
        ({"kind": 11, "shape": (256,)}, UnsupportedModel, "type Q3_K, which cannot be read; .*Q4_K"),
        ({"kind": 26}, UnsupportedModel, "type I32"),
        ({"shape": (0,)}, InvalidModelFile, r"cannot have shape \[0\]"),
        ({"shape": (33,), "kind": 8}, InvalidModelFile, r"type Q8_0 cannot have shape \[33\]"),
        ({"offset": 7}, InvalidModelFile, "offset 7"),
        ({"offset": 2**40}, InvalidModelFile, "truncated: tensor 't' ends at"),
        ({"shape": (2**62, 2**62, 2**62)}, InvalidModelFile, "truncated: tensor 't' ends at"),
        ({"dimensions": 9}, InvalidModelFile, "9 dimensions"),
    ],
)
def test_a_wrong_tensor_is_named_with_what_is_wrong(tmp_path, wrong, error, reason):
    with pytest.raises(error, match=reason):
        open_checkpoint(write_one_tensor(tmp_path / "t.gguf", **wrong))


def test_heads_that_do_not_divide_the_rows_are_a_clear_error(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", tensors=llama_tensors(), fields={"llama.attention.head_count": 7})
    with open_checkpoint(path) as checkpoint, pytest.raises(InvalidModelFile, match="7 heads cannot share"):
        checkpoint.tensor("model.layers.0.self_attn.q_proj.weight")


def test_a_part_of_a_split_model_says_so(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", fields={"split.count": 3})
    with pytest.raises(UnsupportedModel, match="one of 3 parts of a split model; join them"):
        open_checkpoint(path)


def test_a_file_without_a_model_or_a_tokenizer_says_so(tmp_path):
    with (
        open_checkpoint(write_gguf(tmp_path / "m.gguf", tensors=llama_tensors())) as checkpoint,
        pytest.raises(InvalidModelFile, match="holds no tokenizer"),
    ):
        checkpoint.tokenizer()
    (tmp_path / "none.gguf").write_bytes(HEADER.pack(b"GGUF", 3, 0, 0))
    with pytest.raises(InvalidModelFile, match="holds no model"):
        open_checkpoint(tmp_path / "none.gguf")


@pytest.mark.parametrize(
    "key",
    ["llama.expert_count", "llama.rope.scaling.type", "llama.rope.freq_base", "llama.block_count", "split.count",
     "general.alignment", "general.architecture", "tokenizer.chat_template", "tokenizer.ggml.model",
     "tokenizer.ggml.pre", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.token_type", "tokenizer.ggml.merges"],
)  # fmt: skip
@pytest.mark.parametrize("value", [[1, 2], ["a", "b"], "text", -1.5, True], ids=repr)
def test_a_field_of_the_wrong_type_is_never_a_traceback_from_deep_inside(tmp_path, key, value):
    fields = tokenizer_fields("gpt2", ["a", "aa", "<s>"], [1, 1, TokenType.CONTROL], merges=["a a"])
    path = write_gguf(tmp_path / "m.gguf", fields={**fields, key: value})
    with contextlib.suppress(StructgenError):
        read_everything(path)
