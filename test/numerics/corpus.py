# Part of Hocket, under the Apache License v2.0.
"""A small corpus as Megatron token files, the same on every machine.

Each token is a fixed function of the one before it most of the time and drawn
at random otherwise, so that there is something to learn.
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import token_files  # noqa: E402

DOCUMENTS, LONGEST = 60, 120
PAIRS = 38


def draws(seed):
    """Numbers in [0, 2**31), by Knuth's linear congruence."""
    state = seed
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield state >> 33


def documents(vocabulary, seed=7):
    random = draws(seed)
    for _ in range(DOCUMENTS):
        token, document = next(random) % vocabulary, []
        for _ in range(LONGEST // 3 + next(random) % LONGEST):
            document.append(token)
            follows = next(random) % 4 != 0
            token = (5 * token + 3 if follows else next(random)) % vocabulary
        yield document


def write(prefix, vocabulary):
    """Writes PREFIX.bin and PREFIX.idx with one sequence a document."""
    token_files.write(prefix, list(documents(vocabulary)))


def sentences(document, seed):
    """The document cut into sentences of 2 to 10 tokens, by its number."""
    random, rest = draws(seed), document
    while rest:
        length = 2 + next(random) % 9
        yield rest[:length]
        rest = rest[length:]


def write_embeddings(path, rows, seed, dim=4):
    """A NumPy file of f32 [rows, dim], between -1 and 1."""
    random = draws(seed)
    values = [next(random) % 2001 / 1000 - 1 for _ in range(rows * dim)]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dim}), }}"
    head = head.ljust(117) + "\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode()
    path.write_bytes(data + struct.pack(f"<{rows * dim}f", *values))


def write_classes(prefix, vocabulary, classes):
    """Pairs of texts with classes: of document i its first sentences, whose first
    token says the class. They do not fill whole steps of an epoch."""
    pairs, labels = [], []
    for number, document in enumerate(documents(vocabulary)):
        first, second, *_ = sentences(document, 100 + number)
        if number >= PAIRS:
            break
        pairs.append([first, second] if number % 5 else [first])
        labels.append(first[0] % classes)
    token_files.write_sentences(prefix, pairs)
    token_files.write_classes(prefix, [f"class{i}" for i in range(classes)], labels)


def write_choices(prefix, vocabulary, choices):
    """Questions: of document i a text that all choices share, and one for each. They
    do not fill whole steps of an epoch."""
    questions, labels = [], []
    for number, document in enumerate(documents(vocabulary)):
        if number >= PAIRS // choices:
            break
        texts = list(sentences(document, 100 + number))[: 1 + choices]
        questions.append(texts)
        labels.append(texts[0][0] % choices)
    token_files.write_sentences(prefix, questions)
    names = [chr(ord("A") + i) for i in range(choices)]
    token_files.write_classes(prefix, names, labels, choices=True)


def write_sentences(prefix, vocabulary):
    """The same with one sequence a sentence."""
    all_of_them = enumerate(documents(vocabulary))
    token_files.write_sentences(prefix, [list(sentences(d, 100 + n)) for n, d in all_of_them])


def write_images(prefix, vocabulary, sequence, vision):
    """Conversations about images, one a sequence of `sequence` tokens: some images, a
    question that is not learned, and an answer that is; `vision` says the side of an
    image in pixels, its tokens, the token that stands for them, and how many images
    there are at most. The last sequences have fewer."""
    side, rows, placeholder, most = vision
    random, end = draws(11), vocabulary - 1
    images = [bytes(next(random) % 256 for _ in range(3 * side * side)) for _ in range(17)]
    sequences, learned, uses = [], [], []
    for number, document in enumerate(documents(vocabulary - 1)):
        count = most - number % (most + 1)
        texts = [t if t != placeholder else t + 1 for t in document[:sequence]]
        shown = [next(random) % len(images) for _ in range(count)]
        front = [placeholder] * (count * rows)
        text = front[: len(front) // 2] + texts[:1] + front[len(front) // 2 :]
        if count != 2:  # Else a token stands between both images.
            text = texts[:1] + front
        tokens = (text + texts[1:])[: sequence - 1] + [end]
        sequences.append(tokens)
        learned.append([i > len(text) for i in range(sequence)])
        uses.append(shown)
    token_files.write(prefix, sequences)
    token_files.write_mask(prefix, learned, sequence, end)
    total = sequence * len(sequences)
    token_files.write_images(prefix, total, side, rows, placeholder, images, uses)
