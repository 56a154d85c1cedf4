#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes pairs.txt: how a fast tokenizer of `transformers` frames, cuts and pads
one text or two (truncation "longest_first", its default). Token i of the first
text is 1000 + i, of the second 2000 + i. Run it in this folder."""

import tempfile

import tokenizers
import transformers

FRAME = {0: "[PAD]", 1: "[UNK]", 2: "[CLS]", 3: "[SEP]", 4: "[MASK]"}
LENGTHS = (1, 2, 3, 6, 7, 8, 11, 20)


def tokenizer_of(folder):
    words = [FRAME.get(i, f"w{i}") for i in range(3000)]
    path = f"{folder}/vocab.txt"
    with open(path, "w") as file:
        file.write("\n".join(words) + "\n")
    wordpiece = tokenizers.BertWordPieceTokenizer(path)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=wordpiece._tokenizer,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def text(first, count):
    return " ".join(f"w{first + i}" for i in range(count))


def main():
    with tempfile.TemporaryDirectory() as folder, open("pairs.txt", "w") as out:
        tokenizer = tokenizer_of(folder)
        for length in (8, 9, 16, 24):
            for a in LENGTHS:
                for b in (0, *LENGTHS):
                    texts = [text(1000, a)] + ([text(2000, b)] if b else [])
                    made = tokenizer(
                        *texts,
                        truncation=True,
                        max_length=length,
                        padding="max_length",
                        return_token_type_ids=True,
                    )
                    print("sample", length, a, b, sum(made["attention_mask"]), file=out)
                    print("tokens", *made["input_ids"], file=out)
                    print("types", *made["token_type_ids"], file=out)


if __name__ == "__main__":
    main()
