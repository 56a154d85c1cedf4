# Part of Hocket, under the Apache License v2.0.
"""Runs Hocket on a model of models/, as both the golden script and the test do.

A gradient is read out of Hocket through one step of plain SGD without
clipping at a rate of 4096: (before - after) / 4096 is the gradient to the last
bits of f32, because the step dwarfs the weight that it is added to.
"""

import functools
import hashlib
import itertools
import json
import math
import os
import pathlib
import subprocess
import tempfile
from typing import NamedTuple

import corpus
import safetensors

HERE = pathlib.Path(__file__).resolve().parent
# Models that are compared with operands of 8 bits too, by recipe.
FP8_MODELS = (
    ("gpt2", "TENSORWISE"),
    ("llama", "TENSORWISE"),
    ("gpt2", "BLOCKWISE"),
    ("llama", "MXFP8"),
)
INSTRUCTION_SETS = ("avx2", "avx512", "avx512_bf16", "amx")
STEPS, GLOBAL_BATCH, SEQUENCE, RATE = 20, 4, 24, 4096.0
SKETCHES = 8
MOST_IMAGES = 2

SCHEDULE = f"""
training {{
  micro_batch_size: 2 global_batch_size: {GLOBAL_BATCH}
  sequence_length: {SEQUENCE} steps: {STEPS} log_interval: 1 seed: 42
  data {{ split: "1,0,0" }}
"""
MASKED = """
  masked_lm { cls_token: 1 sep_token: 2 mask_token: 3 pad_token: 0 }
"""
CLASSES = """
  classification { cls_token: 1 sep_token: 2 pad_token: 0 }
"""
SPANS = """
  span_corruption { noise_density: 0.3 mean_span_length: 2 sentinels: 20 }
  encoder_sequence_length: 40
"""
ADAMW = """
  learning_rate { schedule: CONSTANT peak: 3e-3 }
  optimizer { adamw { beta1: 0.9 beta2: 0.95 eps: 1e-8 weight_decay: 0.1 } }
  clip_norm: 1.0
}
"""
SGD = f"""
  learning_rate {{ schedule: CONSTANT peak: {RATE} }}
  optimizer {{ sgd {{ momentum: 0 weight_decay: 0 }} }}
  clip_norm: 0
}}
"""


def fp8_options(recipe):
    return (
        "--set", "training.fp8_format=HYBRID",
        "--set", f"training.fp8_recipe={recipe}",
    )  # fmt: skip


def fp8_stem(name, recipe):
    """Of the files in golden/."""
    suffix = "" if recipe == "TENSORWISE" else f"_{recipe.lower()}"
    return f"{name}_fp8{suffix}"


def models():
    return sorted(path.stem for path in (HERE / "models").glob("*.textproto"))


def build():
    return pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", HERE.parents[1] / "build"))


@functools.cache
def instruction_sets():
    """Those that this machine runs, the least first: kernels have a version for
    each, and HOCKET_CPU_ISA chooses (and caps what is found here)."""
    done = subprocess.run(
        [build() / "bin/hocket", "doctor", "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    findings = {line["name"]: line["detail"] for line in json.loads(done.stdout)}
    best = findings["instruction set in use"].split()[0]
    return INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best) + 1]


class Images(NamedTuple):
    side: int
    patch: int
    class_row: bool  # The text has one before an image's patches.

    def patches(self):
        return (self.side // self.patch) ** 2

    def with_class_rows(self, sample):
        """What the host gives for a sample: a row of zeros before the patches of an
        image, where the tower places its class embedding."""
        width, each = 3 * self.patch**2, self.patches()
        pixels, framed = sample["pixels"], []
        for i in range(0, len(pixels), each * width):
            framed += [0.0] * width + pixels[i : i + each * width]
        rows = sample["image_rows"]
        if not self.class_row:
            rows = [row + row // each + 1 if row >= 0 else row for row in rows]
        return {**sample, "pixels": framed, "image_rows": rows}


class Run:
    """A folder with a model's corpus and specs. Close it to remove it."""

    def __init__(self, name):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        text = (HERE / "models" / f"{name}.textproto").read_text()
        self.adamw = self.folder / "adamw.textproto"
        self.sgd = self.folder / "sgd.textproto"
        self.masked = "BIDIRECTIONAL" in text
        self.spans = "encoder {" in text
        self.prefix = "PREFIX" in text
        self.classes = self.number(text, "classes:")
        self.choices = self.number(text, "choices:")
        self.retrieves = "retrieval {" in text
        self.images = None
        if "vision {" in text:
            side, patch = (self.number(text, f"{of}_size:") for of in ("image", "patch"))
            self.images = Images(side, patch, "select: ALL" in text)
        schedule = SCHEDULE
        if self.masked:
            schedule += CLASSES if self.classes or self.choices else MASKED
        if self.spans:
            schedule += SPANS
        vocabulary = self.number(text, "vocab_size:")
        if self.images:
            ends = f"eod_token: {vocabulary - 1} eod_mask_loss: true }}"
            schedule = schedule.replace("}", ends) + f"images_per_sequence: {MOST_IMAGES}"
        self.adamw.write_text(text + schedule + ADAMW)
        self.sgd.write_text(text + schedule + SGD)
        self.data, self.programs = self.folder / "corpus", {}
        if self.images:
            rows = self.images.patches() + self.images.class_row
            vision = self.images.side, rows, self.number(text, "image_token:"), MOST_IMAGES
            corpus.write_images(self.data, vocabulary, SEQUENCE, vision)
        elif self.classes:
            corpus.write_classes(self.data, vocabulary, self.classes)
        elif self.choices:
            corpus.write_choices(self.data, vocabulary, self.choices)
        elif self.masked:
            corpus.write_sentences(self.data, vocabulary)
        else:
            corpus.write(self.data, vocabulary)
        if self.retrieves:
            self.retrieve()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def retrieve(self):
        """Neighbours of all samples, by embeddings that are drawn."""
        options, spec = [], ("--spec", self.adamw)
        for number, (option, split) in enumerate(
            (("--corpus-embeddings", ()), ("--sample-embeddings", ("--split", "train")))
        ):
            told = self.hocket("data", "chunks", self.data, *spec, *split)
            path = self.folder / f"{number}.npy"
            corpus.write_embeddings(path, len(told.splitlines()), seed=number)
            options += [option, path]
        self.hocket("data", "neighbors", self.data, *spec, *options, "--split", "train")

    @staticmethod
    def number(text, field):
        """What `text` writes behind `field`; 0 if it does not."""
        return int(text.split(field)[1].split()[0]) if field in text else 0

    def hocket(self, *arguments, isa=None, threads=None):
        command = [build() / "bin/hocket", *map(str, arguments)]
        chosen = {"HOCKET_CPU_ISA": isa} if isa else {}
        chosen |= {"HOCKET_NUM_THREADS": str(threads)} if threads else {}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False,
            env={**os.environ, **chosen},
        )  # fmt: skip
        if done.returncode:
            line = " ".join(map(str, command))
            raise RuntimeError(f"{line}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def program(self, *arguments):
        """The executable of a spec and options, compiled once: it holds code for
        every instruction set."""
        if arguments not in self.programs:
            path = self.folder / f"{len(self.programs)}.hkx"
            self.hocket("compile", *arguments, "-o", path)
            self.programs[arguments] = path
        return self.programs[arguments]

    def train(self, spec, steps, precision, *options, isa=None, threads=None):
        """The checkpoint's tensors and the log's lines."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        out, log = place / "checkpoint", place / "log.jsonl"
        program = self.program(
            spec, "--set", f"training.precision={precision}", *options
        )  # fmt: skip
        self.hocket(
            "train", program, "--data", self.data, "--steps", steps,
            "--save", out, "--log", log, isa=isa, threads=threads,
        )  # fmt: skip
        if len(list(out.rglob("model*.safetensors"))) > 1:  # each rank its shards
            whole = place / "merged"
            self.hocket("checkpoint", "merge", out, "-o", whole, "--weights-only")
            out = whole
        lines = log.read_text().splitlines() if log.exists() else []
        tensors = {
            name: tensor
            for weights in out.rglob("model*.safetensors")
            for name, tensor in safetensors.read(weights).items()
            if not name.startswith("state.")
        }
        return tensors, [json.loads(line) for line in lines]

    def initial_weights(self):
        return self.train(self.sgd, 0, "FP32")[0]

    def gradients(self, before, precision, *options, isa=None):
        """(gradients of the first step's mean loss, that loss)."""
        after, log = self.train(self.sgd, 1, precision, *options, isa=isa)
        gradients = {}
        for name, (shape, old) in before.items():
            new = after[name][1]
            change = [(b - a) / RATE for b, a in zip(old, new, strict=True)]
            gradients[name] = shape, change
        return gradients, losses(log)[0]

    def exact_gradients(self, before):
        """gradients(), of the specification evaluated in f64 by plain loops."""
        module, inputs = self.folder / "model.mlir", self.folder / "inputs.json"
        self.hocket(
            "compile", self.sgd, "--set", "training.precision=FP32",
            "--compile-to=xf", "-o", module,
        )  # fmt: skip
        start = {name: values.tolist() for name, (_, values) in before.items()}
        batch = self.samples()[:GLOBAL_BATCH]
        if self.images:
            batch = [self.images.with_class_rows(row) for row in batch]
        given = {
            "learning_rate": RATE,
            "seed": 42,
            "variables": start,
            "microbatches": host_inputs(batch),
        }
        inputs.write_text(json.dumps(given))
        done = subprocess.run(
            [build() / "test/bin/evaluate_step", module, inputs],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"evaluate_step: {done.returncode}\n{done.stderr}")
        told = json.loads(done.stdout)
        after = told["variables"]
        gradients = {
            name: (shape, [(a - b) / RATE for a, b in zip(start[name], after[name], strict=True)])
            for name, (shape, _) in before.items()
        }
        return gradients, told["loss"]

    def evaluate(self, samples, *options):
        """The loss of the first weights over the first samples of training, apart
        from training, in fp32."""
        place = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "checkpoint"
        program = self.program(self.sgd, "--set", "training.precision=FP32")
        self.hocket("train", program, "--data", self.data, "--steps", 0, "--save", place)
        told = self.hocket(
            "eval", "loss", "--load", place, "--data", self.data, "--split", "train",
            "--samples", samples, "--json", *options,
        )  # fmt: skip
        return json.loads(told)["loss"]

    def losses(self, precision, *options, isa=None):
        return losses(self.train(self.adamw, STEPS, precision, *options, isa=isa)[1])

    def samples(self):
        """The tokens of every sample of the training run, in order; of masked
        ones and those of corrupted spans, with what they are made of."""
        chosen = f"0:{STEPS * GLOBAL_BATCH}"
        lines = self.hocket(
            "data", "show", self.data, "--spec", self.adamw, "--split", "train",
            "--samples", chosen, "--json",
        ).splitlines()  # fmt: skip
        rows = [json.loads(line) for line in lines]
        if self.spans:
            parts = ("encoder_tokens", "tokens", "labels")
            return [{part: row[part] for part in parts} for row in rows]
        if self.images:
            parts = ("tokens", "learned", "image_rows", "pixels")
            return [{part: row[part] for part in parts} for row in rows]
        if self.retrieves:
            chain = itertools.chain.from_iterable
            return [
                {"tokens": row["tokens"], "neighbors": list(chain(chain(row["neighbors"])))}
                for row in rows
            ]
        if not self.masked and not self.prefix:
            return [row["tokens"] for row in rows]
        parts = ("tokens", "learned", "labels", "token_types", "swapped")
        return [{part: row[part] for part in parts if part in row} for row in rows]


def host_inputs(batch):
    """What the host gives a step, in microbatches of two sequences."""
    if not isinstance(batch[0], dict):  # As long as each other, and shifted by one.
        batch = [{"tokens": row} for row in batch]
    if "labels" not in batch[0] and "learned" not in batch[0]:
        batch = [
            {**row, "tokens": row["tokens"][:-1], "labels": row["tokens"][1:]}
            for row in batch
        ]
    elif "learned" in batch[0]:
        batch = [of_learned(**row) for row in batch]
    counts = [sum(label >= 0 for label in row["labels"]) for row in batch]
    share = sum(counts) / (len(batch) // 2)

    def inputs(part):
        def padded(name, rest):
            columns = (row.get(name, []) for row in part)
            return [x for column in columns for x in column + [rest] * (SEQUENCE - len(column))]

        return {
            "tokens": padded("tokens", 0),
            "labels": padded("labels", -1),
            "label_count": share,
            "token_types": padded("token_types", 0),
            "key_counts": [
                max(row["prefix"], i + 1) if "prefix" in row else len(row["tokens"])
                for row in part for i in range(SEQUENCE)
            ],
            "sentence_labels": [
                int(row.get("swapped", False)) if i == 0 else -1
                for row in part for i in range(SEQUENCE)
            ],
            **{
                name: [x for row in part for x in row.get(name, [])]
                for name in ("encoder_tokens", "image_rows", "pixels", "neighbors")
            },
        }  # fmt: skip

    return [inputs(batch[i : i + 2]) for i in range(0, len(batch), 2)]


def of_learned(tokens, learned, **images):
    """Behind a prefix, or with images."""
    labels = [token if seen else -1 for token, seen in zip(tokens, learned, strict=True)]
    rest = images or {"prefix": learned.index(1)}
    return {"tokens": tokens[:-1], "labels": labels[1:], **rest}


def losses(log):
    """The training loss of every step, in order."""
    return [line["loss"] for line in log if "loss" in line and "step" in line]


def fingerprint(tensors):
    """Sums that change when a weight does, but not by its last bits."""
    return {
        name: [shape, sum(values), sum(value * value for value in values)]
        for name, (shape, values) in tensors.items()
    }


def sketch(name, values):
    """Sums of `values` under SKETCHES patterns of signs, which `name` chooses. Those
    of a difference have, on average, the square of its Frobenius norm as theirs
    (Alon, Matias and Szegedy, 1996): they hold a tensor in f64 without storing it."""
    sums = []
    for number in range(SKETCHES):
        bits = hashlib.shake_128(f"{name} {number}".encode()).digest(len(values) // 8 + 1)
        signs = (bits[i // 8] >> i % 8 & 1 for i in range(len(values)))
        sums.append(math.fsum(x if sign else -x for x, sign in zip(values, signs)))
    return sums
