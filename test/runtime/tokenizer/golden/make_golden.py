#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Makes the golden files of this folder: small tokenizers, and what Hugging
Face's `tokenizers` and `sentencepiece` make of the texts of ../texts.py.

    pip install tokenizers sentencepiece
    python3 make_golden.py CORPUS.txt

CORPUS.txt is some hundred kilobytes of English (the Bible of Debian's
bible-kjv, say), which the vocabularies are made of together with texts.py's
languages.
"""

import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import sentencepiece  # noqa: E402
import texts  # noqa: E402
from tokenizers import (  # noqa: E402
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

BLOCK = 16384  # Code points a digest.
STRINGS, STRING_BLOCK = 20000, 2000
CASELESS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(lines, size, pre):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


def split(digits):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CASELESS % digits), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def gpt2(folder, lines, size):
    tokenizer = byte_level(lines, size, pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.add_special_tokens(["<|endoftext|>"])
    (folder / "gpt2").mkdir(exist_ok=True)
    tokenizer.model.save(str(folder / "gpt2"))
    vocabulary = json.loads((folder / "gpt2/vocab.json").read_text())
    vocabulary["<|endoftext|>"] = len(vocabulary)
    (folder / "gpt2/vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n")
    return tokenizer, "gpt2"


def llama3(folder, lines, size):
    tokenizer = byte_level(lines, size, split(r"\p{N}{1,3}"))
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                pair="<|begin_of_text|> $A <|begin_of_text|> $B",
                special_tokens=[("<|begin_of_text|>", begin)],
            ),
        ]
    )
    document = json.loads(tokenizer.to_str())
    document["model"]["ignore_merges"] = True
    path = folder / "llama3.json"
    path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    return Tokenizer.from_file(str(path)), path.name


def qwen2(folder, lines, size):
    tokenizer = byte_level(lines, size, split(r"\p{N}"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
    tokenizer.add_tokens(
        [
            AddedToken("<think>", special=False, normalized=False),
            AddedToken("</think>", special=False, normalized=False, lstrip=True, rstrip=True),
            AddedToken("[MASK]", special=False, normalized=True, single_word=True),
        ]
    )
    path = folder / "qwen2.json"
    tokenizer.save(str(path), pretty=False)
    return tokenizer, path.name


def bert(folder, lines, size, lower):
    name = "bert-uncased" if lower else "bert-cased"
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )
    (folder / name).mkdir(exist_ok=True)
    vocabulary = tokenizer.get_vocab()
    ordered = sorted(vocabulary, key=vocabulary.get)
    (folder / name / "vocab.txt").write_text("\n".join(ordered) + "\n")
    return tokenizer, name + "/vocab.txt"


class SentencePiece:
    """With the methods of a `Tokenizer` that are used here."""

    def __init__(self, path):
        self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))

    def documents(self, lines):
        return self.model.encode(lines)

    def decode(self, ids):
        return self.model.decode(ids)

    def size(self):
        return self.model.get_piece_size()


def sentence_piece(folder, lines, size, kind, **options):
    path = folder / f"{kind}.model"
    with tempfile.TemporaryDirectory() as scratch:
        corpus = pathlib.Path(scratch) / "corpus.txt"
        corpus.write_text("\n".join(lines) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=str(pathlib.Path(scratch) / kind),
            vocab_size=size,
            model_type=kind,
            minloglevel=2,
            num_threads=1,
            **options,
        )
        path.write_bytes((pathlib.Path(scratch) / f"{kind}.model").read_bytes())
    return SentencePiece(path), path.name


def sentence_piece_bpe(folder, lines, size):
    return sentence_piece(
        folder, lines, size, "bpe",
        byte_fallback=True, character_coverage=0.99, normalization_rule_name="identity",
        remove_extra_whitespaces=False, split_digits=True, allow_whitespace_only_pieces=True,
        user_defined_symbols=["<think>"],
    )  # fmt: skip


def sentence_piece_unigram(folder, lines, size, rules=None):
    """With a map of a few rules; `rules` = None is SentencePiece's own NFKC."""
    if rules is None:
        return sentence_piece(folder, lines, size, "unigram", character_coverage=0.99)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        for source, target in rules:
            hexadecimal = [" ".join(f"{ord(c):X}" for c in part) for part in (source, target)]
            file.write("\t".join(hexadecimal) + "\n")
        file.flush()
        return sentence_piece(
            folder, lines, size, "unigram",
            character_coverage=0.99, normalization_rule_tsv=file.name,
            user_defined_symbols=["<think>"],
        )  # fmt: skip


RULES = (
    [(c, " ") for c in "\t\n\r\u00a0\u2003\u3000"]
    + [(chr(0xFF01 + i), chr(0x21 + i)) for i in range(94)]
    + [("\ufb01", "fi"), ("e\u0301", "\u00e9"), ("\u200b", ""), ("\u2167", "VIII"), ("\u00bd", "1/2")]
)


def documents(tokenizer, lines):
    """The numbers of each text, where special tokens are text."""
    if isinstance(tokenizer, SentencePiece):
        return tokenizer.documents(lines)
    tokenizer.encode_special_tokens = True
    return [e.ids for e in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]


def prompts(tokenizer, lines):
    tokenizer.encode_special_tokens = False
    return [tokenizer.encode(line).ids for line in lines]


def decoded(tokenizer, size):
    """Texts of random numbers; a byte that is no UTF-8 is U+FFFD."""
    numbers = texts.Numbers(7)
    lists = [[numbers.below(size) for _ in range(numbers.below(20))] for _ in range(500)]
    if isinstance(tokenizer, SentencePiece):
        # It has another opinion of bytes that are no UTF-8.
        lists = [[i for i in ids if not tokenizer.model.is_byte(i)] for ids in lists]
    return [tokenizer.decode(ids) for ids in lists]


def blocks(tokenizer, settled):
    """For each block the digest of its code points."""
    found = {}
    for code in texts.code_points(settled):
        found.setdefault(code // BLOCK, []).append(texts.code_point_text(code))
    return {str(b): texts.digest(documents(tokenizer, lines)) for b, lines in found.items()}


def expectations(tokenizer, name):
    strings = texts.random_texts(STRINGS)
    parts = [strings[i : i + STRING_BLOCK] for i in range(0, STRINGS, STRING_BLOCK)]
    of = {
        "languages": documents(tokenizer, list(texts.LANGUAGES.values())),
        "random": [texts.digest(documents(tokenizer, part)) for part in parts],
        "code_points": blocks(tokenizer, settled=name.startswith("bert")),
    }
    if not isinstance(tokenizer, SentencePiece):
        of["prompts"] = prompts(tokenizer, ["Hello <|endoftext|> <think>x", "a [MASK] b"])
        size = tokenizer.get_vocab_size()
    else:
        size = tokenizer.size()
    sha = texts.hashlib.sha256("\0".join(decoded(tokenizer, size)).encode())
    of["decoded"] = sha.hexdigest()[:16]
    of["vocabulary_size"] = size
    return of


def make_all(folder, lines, size):
    """Each tokenizer with the file that it is in."""
    yield gpt2(folder, lines, size)
    yield llama3(folder, lines, size)
    yield qwen2(folder, lines, size)
    yield bert(folder, lines, size, lower=True)
    yield bert(folder, lines, size, lower=False)
    yield sentence_piece_bpe(folder, lines, size)
    yield sentence_piece_unigram(folder, lines, size, RULES)


def main():
    corpus = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    lines = [line for line in corpus[:300_000].splitlines() if line]
    lines += list(texts.LANGUAGES.values()) * 3
    golden = {}
    for tokenizer, name in make_all(HERE, lines, 640):
        golden[name] = expectations(tokenizer, name)
        print(name)
    (HERE / "golden.json").write_text(json.dumps(golden, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
