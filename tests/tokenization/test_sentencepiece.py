from __future__ import annotations

import io

import pytest
from gguf.constants import TokenType
from gguf_files import tokenizer_fields, write_gguf
from mixed_text import SAMPLES, mixed_texts
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from structgen.engine.tokenization.sentencepiece import SPACE, merges_from_scores
from structgen.engine.weights import open_checkpoint
from structgen.errors import InvalidModelFile, UnsupportedModel

RUNS = [SPACE * length for length in (2, 3, 4)]
USER_DEFINED = [*RUNS, "<tool>", "\n", "\n\n"]
CONTROL = "<|im_end|>"


def train(*, add_space_prefix: bool, user_defined: list[str]) -> SentencePieceProcessor:
    """A small BPE with byte fallback, as llama's (with a prefix) and gemma's (without) were made."""
    written = io.BytesIO()
    corpus = [text[:1000] for text in [*SAMPLES, *mixed_texts(300, seed=1)] if text.strip() and "\0" not in text]
    SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=written,
        model_type="bpe",
        vocab_size=1500,
        byte_fallback=True,
        character_coverage=0.98,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        add_dummy_prefix=add_space_prefix,
        user_defined_symbols=user_defined,
        control_symbols=[CONTROL],
        minloglevel=2,
    )
    return SentencePieceProcessor(model_proto=written.getvalue())


def fields_of(original: SentencePieceProcessor, user_defined: list[str], **others: object) -> dict[str, object]:
    """What the converter writes: user-defined pieces unescaped, and scored as it likes."""
    tokens, types, scores = [], [], []
    for token in range(original.vocab_size()):
        text = original.id_to_piece(token)
        kinds = {
            TokenType.USER_DEFINED: text in user_defined,
            TokenType.UNKNOWN: original.is_unknown(token),
            TokenType.CONTROL: original.is_control(token),
            TokenType.BYTE: original.is_byte(token),
            TokenType.NORMAL: True,
        }
        kind = next(kind for kind, holds in kinds.items() if holds)
        types.append(kind)
        tokens.append(text.replace(SPACE, " ") if kind == TokenType.USER_DEFINED else text)
        scores.append(-1000.0 if kind == TokenType.USER_DEFINED else original.get_score(token))
    ids = {"unknown_token_id": original.unk_id(), "bos_token_id": original.bos_id(), "eos_token_id": original.eos_id()}
    return tokenizer_fields("llama", tokens, types, scores=scores, **ids, **others)


@pytest.fixture(scope="module", params=["with a prefix", "without"])
def pair(request, tmp_path_factory):
    """The original, the tokenizer read back from a GGUF file, and texts for both.

    User-defined pieces come without a prefix only, as in gemma: with one, Hugging Face's tokenizers (llama's among
    them) put a prefix behind each of them too, which sentencepiece does not.
    """
    prefix = request.param == "with a prefix"
    user_defined = [] if prefix else USER_DEFINED
    original = train(add_space_prefix=prefix, user_defined=user_defined)
    path = tmp_path_factory.mktemp("spm") / "m.gguf"
    with open_checkpoint(
        write_gguf(path, fields=fields_of(original, user_defined, add_space_prefix=prefix))
    ) as checkpoint:
        tokenizer = checkpoint.tokenizer()
    texts = mixed_texts(3000, special=[text for text in user_defined if text not in RUNS])
    return original, tokenizer, [text for text in texts if "<unk>" not in text]


def test_ids_are_those_of_sentencepiece_itself(pair):
    original, tokenizer, texts = pair
    for text in texts:
        assert tokenizer.encode(text, add_special_tokens=False).ids == original.encode(text), text


def test_decoding_gives_the_text_back(pair):
    _, tokenizer, texts = pair
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text.replace(SPACE, " ")


def test_text_begins_with_the_beginning_token_unless_the_file_says_otherwise(tmp_path):
    original = train(add_space_prefix=True, user_defined=[])
    for says, expected in (({}, [original.bos_id()]), ({"add_bos_token": False}, [])):
        fields = fields_of(original, [], **says)
        with open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint:
            ids = checkpoint.tokenizer().encode("Hello").ids
        assert ids == [*expected, *original.encode("Hello")]


def test_a_control_token_is_one_token_and_never_its_text_in_pieces(pair):
    original, tokenizer, _ = pair
    assert original.piece_to_id(CONTROL) in tokenizer.encode(f"a{CONTROL}b").ids
    assert tokenizer.decode(tokenizer.encode(f"a{CONTROL}").ids) == "a"


def test_merges_are_ordered_by_the_score_of_the_whole_and_the_ids_of_the_parts():
    vocabulary = {piece: token for token, piece in enumerate(["a", "b", "c", "ab", "bc", "abc", "ca"])}
    scores = {"a": -9.0, "b": -9.0, "c": -9.0, "ab": -1.0, "bc": -2.0, "abc": -0.5, "ca": -2.0}
    expected = [("a", "bc"), ("ab", "c"), ("a", "b"), ("b", "c"), ("c", "a")]
    assert merges_from_scores(vocabulary, scores) == expected


def test_runs_of_spaces_that_are_cut_out_first_merge_first_the_longest_before_all():
    vocabulary = {piece: token for token, piece in enumerate([SPACE, *RUNS, "a", f"{SPACE}a"])}
    scores = {SPACE: -5.0, "a": -6.0, f"{SPACE}a": 0.0}
    lengths = [(len(left), len(right)) for left, right in merges_from_scores(vocabulary, scores)]
    assert lengths == [(3, 1), (2, 2), (2, 1), (1, 3), (1, 2), (1, 1), (1, 1)]


@pytest.mark.parametrize(
    ("wrong", "error", "reason"),
    [
        ({"scores": [0.0]}, InvalidModelFile, r"scores is not an array of \d+ numbers"),
        ({"scores": "none"}, InvalidModelFile, "scores is not an array"),
        ({"remove_extra_whitespaces": True}, UnsupportedModel, "remove_extra_whitespaces"),
        ({"precompiled_charsmap": [1, 2]}, UnsupportedModel, "precompiled_charsmap"),
        ({"add_space_prefix": "yes"}, InvalidModelFile, "add_space_prefix is 'yes' and not a boolean"),
    ],
)
def test_what_cannot_be_held_exactly_is_refused(tmp_path, wrong, error, reason):
    fields = fields_of(train(add_space_prefix=True, user_defined=[]), [])
    fields |= {f"tokenizer.ggml.{key}": value for key, value in wrong.items()}
    with (
        open_checkpoint(write_gguf(tmp_path / "m.gguf", fields=fields)) as checkpoint,
        pytest.raises(error, match=rf"m\.gguf: .*{reason}"),
    ):
        checkpoint.tokenizer()
