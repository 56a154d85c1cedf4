#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes megatron_order.txt, what Megatron-LM's own compiled helpers make of
document orders and blends, and megatron_sentences.txt, what they and its dataset
for BERT make of sentences. Needs NumPy, PyTorch for the second, and an unpacked
wheel of megatron-core (golden numbers are of 0.16.1); run it in this folder:

    pip download --no-deps megatron-core==0.16.1
    unzip megatron_core-*.whl -d WHEEL
    python3 megatron.py WHEEL
"""

import glob
import importlib.util
import sys
from types import SimpleNamespace

import numpy as np


def load_helpers(wheel):
    (path,) = glob.glob(wheel + "/megatron/core/datasets/helpers_cpp*.so")
    spec = importlib.util.spec_from_file_location("helpers_cpp", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(out, name, values):
    out.write(name + "".join(f" {int(v)}" for v in values) + "\n")


def write_samples(out, helpers, lengths, epochs, length, seed):
    lengths = np.array(lengths, dtype=np.int32)
    order = np.tile(np.arange(len(lengths), dtype=np.int32), epochs)
    np.random.RandomState(seed).shuffle(order)
    starts = helpers.build_sample_idx_int32(
        lengths, order, length, epochs, int(lengths.sum()), True, 1
    )
    line(out, "lengths", lengths)
    line(out, "length", [length])
    line(out, "documents", order)
    line(out, "starts", starts.reshape(-1))


def write_blend(out, helpers, weights, samples):
    normal = np.array(weights, dtype=np.float64)
    normal = normal / np.sum(normal)
    dataset = np.zeros(samples, dtype=np.int16)
    sample = np.zeros(samples, dtype=np.int64)
    helpers.build_blending_indices(
        dataset, sample, normal, len(weights), samples, False
    )
    line(out, "weights", weights)
    line(out, "dataset", dataset)
    line(out, "sample", sample)


SAMPLES = [
    # lengths, epochs, length, seed
    ([5, 3, 7, 4], 1, 4, 1234),
    ([1, 0, 2, 0, 0, 6, 1, 1, 30], 3, 5, 42),
    ([3], 9, 8, 5),
    ([0, 9, 11, 2, 17, 8, 1, 23, 4, 4, 12, 0], 4, 8, 0),
    # Every document one sample and the token it shares with the next.
    ([8] * 6, 2, 8, 7),
    ([1000, 1, 1, 1], 2, 1, 99),
]

BLENDS = [
    ([1], 5),
    ([1, 1], 20),
    ([5, 3, 2], 100),
    ([7, 62, 31], 300),
    ([1, 1, 1], 100),
    # NumPy adds eight and more numbers in an order of its own.
    ([1, 3, 7, 11, 13, 17, 19, 23, 29, 31, 37], 500),
    ([(k * 7919) % 1000 + 1 for k in range(150)], 900),
]


# documents' numbers of sentences, samples (0: one epoch), longest, short sequences,
# least sentences, seed
SENTENCES = [
    ([4, 1, 9, 0, 30], 0, 20, 0.0, 2, 5),
    ([4, 1, 9, 0, 30], 40, 20, 0.1, 2, 1234),
    ([12, 7, 25, 2, 3], 60, 33, 0.5, 1, 7),
    ([40] * 6, 300, 16, 1.0, 2, 4294967),
]


def tokens_of(sentence):
    """Of a corpus that both sides make: 2 to 10 tokens, told by their place."""
    length = 2 + sentence * sentence % 9
    return [100 + (31 * sentence + i) % 800 for i in range(length)]


def write_sentences(out, helpers, dataset, documents, samples, longest, short, least, seed):
    starts = np.cumsum([0, *documents]).astype(np.int64)
    sentences = [tokens_of(s) for s in range(starts[-1])]
    lengths = np.array([len(s) for s in sentences], dtype=np.int32)
    epochs, most = (2**31 - 2, samples) if samples else (1, 2**62)
    mapping = helpers.build_mapping(
        starts, lengths, epochs, most, longest, short, seed, False, least
    )
    line(out, "documents", starts)
    line(out, "options", [samples, longest, round(100 * short), least, seed])
    line(out, "mapping", mapping.reshape(-1))
    tokenizer = SimpleNamespace(cls=1, sep=2, mask=3, pad=0)
    config = SimpleNamespace(
        random_seed=seed, classification_head=least == 2, sequence_length=longest + 3,
        tokenizer=tokenizer,
    )  # fmt: skip
    own = SimpleNamespace(
        sample_index=mapping, dataset=sentences, config=config, _pad_token_id=0,
        _create_masked_lm_predictions=lambda tokens, *_: (tokens, [], [], None, None),
    )  # fmt: skip
    for sample in range(min(len(mapping), 12)):
        found = dataset.__getitem__(own, sample)
        line(out, "tokens", [found["is_random"], *found["text"]])


def main():
    helpers = load_helpers(sys.argv[1])
    sys.path[0] = sys.argv[1]  # in the place of this folder, whose megatron is this file
    from megatron.core.datasets.bert_dataset import BERTMaskedWordPieceDataset

    with open("megatron_sentences.txt", "w") as out:
        for case in SENTENCES:
            write_sentences(out, helpers, BERTMaskedWordPieceDataset, *case)
    with open("megatron_order.txt", "w") as out:
        for case in SAMPLES:
            write_samples(out, helpers, *case)
        for case in BLENDS:
            write_blend(out, helpers, *case)


main()
