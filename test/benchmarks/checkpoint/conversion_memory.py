#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""The memory and time that importing and exporting models takes.

    python3 test/benchmarks/checkpoint/conversion_memory.py [--only NAME]

Each model is a folder of random numbers as Hugging Face's are. Its peak is what the
process held at most, beyond what the same conversion of a tiny model does, as a share
of the largest tensor that is read or written. The exit status is 1 where that is 2 or
more.
"""

import argparse
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("HOCKET_BUILD_DIR", ROOT / "build"))
BLOCK = 1 << 20  # elements that are drawn once, and repeated


def gpt2(hidden, layers, vocabulary, positions=1024):
    """config.json, and each tensor's shape, of a GPT-2: matrices that are turned."""
    config = {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": 16,
              "vocab_size": vocabulary, "n_positions": positions}  # fmt: skip
    shapes = {"wte.weight": [vocabulary, hidden], "wpe.weight": [positions, hidden]}
    for i in range(layers):
        for name, (rows, columns) in {
            "attn.c_attn": (hidden, 3 * hidden), "attn.c_proj": (hidden, hidden),
            "mlp.c_fc": (hidden, 4 * hidden), "mlp.c_proj": (4 * hidden, hidden),
        }.items():  # fmt: skip
            shapes[f"h.{i}.{name}.weight"] = [rows, columns]
            shapes[f"h.{i}.{name}.bias"] = [columns]
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{name}.weight": [hidden], f"h.{i}.{name}.bias": [hidden]}
    return config, shapes | {"ln_f.weight": [hidden], "ln_f.bias": [hidden]}


def llama(hidden, layers, vocabulary, ffn, kv_heads):
    """The same of a Llama with tied embeddings and heads of 64."""
    config = {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers,
              "num_attention_heads": hidden // 64, "num_key_value_heads": kv_heads,
              "intermediate_size": ffn, "vocab_size": vocabulary,
              "max_position_embeddings": 2048, "tie_word_embeddings": True}  # fmt: skip
    shapes = {"model.embed_tokens.weight": [vocabulary, hidden], "model.norm.weight": [hidden]}
    for i in range(layers):
        layer = f"model.layers.{i}."
        for name, rows, columns in (
            ("self_attn.q_proj", hidden, hidden), ("self_attn.k_proj", 64 * kv_heads, hidden),
            ("self_attn.v_proj", 64 * kv_heads, hidden), ("self_attn.o_proj", hidden, hidden),
            ("mlp.gate_proj", ffn, hidden), ("mlp.up_proj", ffn, hidden),
            ("mlp.down_proj", hidden, ffn),
        ):  # fmt: skip
            shapes[f"{layer}{name}.weight"] = [rows, columns]
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"{layer}{name}.weight"] = [hidden]
    return config, shapes


def elements(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def publish(folder, config, shapes, dtype):
    """Writes the folder; the bytes of all its weights, and of the largest tensor."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    size = {"F32": 4, "BF16": 2}[dtype]
    header, at = {}, 0
    for name, shape in shapes.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [at, at + elements(shape) * size]}  # fmt: skip
        at += elements(shape) * size
    text = json.dumps(header).encode()
    rng = random.Random(0)
    block = struct.pack(f"<{BLOCK}f", *(rng.gauss(0, 0.02) for _ in range(BLOCK)))
    if dtype == "BF16":
        block = b"".join(block[i + 2 : i + 4] for i in range(0, len(block), 4))
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for begin in range(0, at, len(block)):
            out.write(block[: min(len(block), at - begin)])
    return at, max(map(elements, shapes.values())) * size


def measure(*arguments):
    """(seconds, peak bytes) of a call of hocket that must succeed."""
    command = [BUILD / "bin/hocket", *map(str, arguments)]
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        said = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"hocket {' '.join(map(str, arguments))}: {said}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def convert(folder, config, shapes, dtype):
    """(bytes read, bytes of the largest tensor, (seconds, peak)) of an import and of
    exports in two types."""
    total, largest = publish(folder / "theirs", config, shapes, dtype)
    numbers, most = total // (4 if dtype == "F32" else 2), max(map(elements, shapes.values()))
    # What is stored of a run is fp32.
    yield total, max(largest, 4 * most), measure(
        "checkpoint", "import", folder / "theirs", "-o", folder / "run")  # fmt: skip
    for name in ("float32", "bfloat16"):
        yield 4 * numbers, 4 * most, measure(
            "checkpoint", "export", folder / "run", "-o", folder / name, "--dtype", name)  # fmt: skip


TINY = gpt2(64, 1, 64, 64)
MODELS = {
    "GPT-2 medium, fp32": (*gpt2(1024, 24, 50257), "F32"),
    "Llama 1B, bf16": (*llama(2048, 16, 128256, 8192, 8), "BF16"),
}
STEPS = ("import", "export, float32", "export, bfloat16")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="of the models' names")
    parser.add_argument("--folder", help="where there is room for 15 GB")
    arguments = parser.parse_args()
    print("| model | | read | largest tensor | seconds | MB/s | peak | beyond a tiny model's "
          "/ largest |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    fits = True
    with tempfile.TemporaryDirectory(dir=arguments.folder) as scratch:
        base = pathlib.Path(scratch) / "tiny"
        base.mkdir()
        tiny = [peak for _, _, (_, peak) in convert(base, *TINY, "F32")]
        for number, (name, model) in enumerate(MODELS.items()):
            if arguments.only not in name:
                continue
            folder = pathlib.Path(scratch) / str(number)
            folder.mkdir()
            results = convert(folder, *model)
            for step, least, (total, largest, (seconds, peak)) in zip(STEPS, tiny, results):
                share = (peak - least) / largest
                fits = fits and share < 2
                print(f"| {name} | {step} | {total / 1e9:.2f} GB | {largest / 1e6:.0f} MB | "
                      f"{seconds:.1f} | {total / 1e6 / seconds:.0f} | {peak / 1e6:.0f} MB | "
                      f"{share:.2f} |", flush=True)  # fmt: skip
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
