# Part of Hocket, under the Apache License v2.0.
"""`hocket checkpoint export` and `import`: types, several files, transposed
matrices larger than what is in memory at once."""

import array
import json
import pathlib
import struct
import sys
import tempfile
import unittest

from programs import ROOT, hocket

sys.path.insert(0, str(ROOT / "test/numerics"))

import safetensors  # noqa: E402

GPT2 = """name: "wide"
model { layers: 1 hidden: 768 heads: 4 ffn: 3072 vocab_size: 257 max_positions: 16
        vocab_padding: 128 initializer { stddev: 0.1 } }
training { sequence_length: 8 global_batch_size: 1 data { split: "1" } }
"""


def must(*arguments):
    done = hocket(*arguments)
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.stderr}")
    return done.stdout


def read(folder):
    """name -> (type, shape, bytes) of all files of a folder."""
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        data = path.read_bytes()
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__")
        for name, entry in header.items():
            begin, end = (8 + length + at for at in entry["data_offsets"])
            tensors[name] = entry["dtype"], entry["shape"], data[begin:end]
    return tensors


def to_bf16(raw):
    """Rounded to nearest, ties to even, in integers."""
    rounded = array.array("H")
    for (bits,) in struct.iter_unpack("<I", raw):
        low, high = bits & 0xFFFF, bits >> 16
        rounded.append(high + (low > 0x8000 or (low == 0x8000 and high & 1)))
    return rounded.tobytes()


def to_f16(raw):
    """By the struct module, which rounds as IEEE 754 does."""
    values = array.array("f", raw)
    return struct.pack(f"<{len(values)}e", *values)


class HuggingFaceFoldersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        spec, text = cls.folder / "wide.textproto", cls.folder / "text.txt"
        spec.write_text(GPT2)
        text.write_text("Tyger Tyger, burning bright,\n" * 20)
        must("data", "prepare", text, "-o", cls.folder / "text", "--tokenizer", "byte")
        must("compile", spec, "-o", cls.folder / "wide.hkx")
        cls.run_ = cls.folder / "run"
        must("train", cls.folder / "wide.hkx", "--data", cls.folder / "text", "--steps", 1,
             "--save", cls.run_)  # fmt: skip
        cls.exported = cls.folder / "exported"
        must("checkpoint", "export", cls.run_, "-o", cls.exported)

    def test_matrices_are_transposed_and_joined(self):
        must("checkpoint", "merge", self.run_, "-o", self.folder / "merged", "--weights-only")
        (path,) = self.folder.glob("merged/iter_*/model.safetensors")
        ours, theirs = safetensors.read(path), safetensors.read(self.exported / "model.safetensors")
        block = "transformer.h.0."
        up, (shape, values) = ours["layers.0.mlp.up.weight"], theirs[f"{block}mlp.c_fc.weight"]
        self.assertEqual((up[0], shape), ([3072, 768], [768, 3072]))
        for row in (0, 1, 383, 767):
            self.assertEqual(values[row * 3072 : (row + 1) * 3072], up[1][row::768])
        shape, values = theirs[f"{block}attn.c_attn.weight"]
        self.assertEqual(shape, [768, 3 * 768])
        for number, part in enumerate("qkv"):
            column = ours[f"layers.0.attention.{part}.weight"][1]
            for row in (0, 500, 767):
                begin = row * 3 * 768 + number * 768
                self.assertEqual(values[begin : begin + 768], column[row::768])
        # The rows that pad the vocabulary stay here.
        self.assertEqual(theirs["transformer.wte.weight"][0], [257, 768])
        self.assertEqual(ours["embedding.weight"][0], [384, 768])

    def test_a_folder_is_imported_as_it_was(self):
        back = self.folder / "back"
        must("checkpoint", "import", self.exported, "-o", back,
             "--set", "model.vocab_padding=128")  # fmt: skip
        done = hocket("checkpoint", "diff", self.run_, back, "--weights-only", "--json")
        # But for the rows that pad the vocabulary, which are not exported.
        (only,) = json.loads(done.stdout)["different"]
        self.assertEqual(only["tensor"], "embedding.weight")
        self.assertLessEqual(only["unequal"], 127 * 768)

    def test_other_types_in_several_files(self):
        whole = read(self.exported)
        for dtype, name, convert in (
            ("bfloat16", "BF16", to_bf16),
            ("float16", "F16", to_f16),
        ):
            with self.subTest(dtype):
                out = self.folder / dtype
                must("checkpoint", "export", self.run_, "-o", out, "--dtype", dtype,
                     "--max-shard-size", 0.005)  # fmt: skip
                files = sorted(path.name for path in out.glob("*.safetensors"))
                self.assertEqual(files[0], f"model-00001-of-{len(files):05}.safetensors")
                self.assertEqual(len(files), 4)
                tensors = read(out)
                self.assertEqual(set(tensors), set(whole))
                for key, (_, shape, raw) in whole.items():
                    self.assertEqual(tensors[key], (name, shape, convert(raw)), key)
                index = json.loads((out / "model.safetensors.index.json").read_text())
                self.assertEqual(set(index["weight_map"].values()), set(files))
                for file in files:
                    alone = self.folder / f"{dtype}-{file}"
                    alone.mkdir()
                    (alone / file).write_bytes((out / file).read_bytes())
                    placed = {key for key, at in index["weight_map"].items() if at == file}
                    self.assertEqual(set(read(alone)), placed)
                total = sum(len(raw) for _, _, raw in tensors.values())
                self.assertEqual(index["metadata"], {"total_size": total})
                config = json.loads((out / "config.json").read_text())
                self.assertEqual(config["torch_dtype"], dtype)
                must("checkpoint", "import", out, "-o", self.folder / f"again-{dtype}")

    def test_a_tokenizer_goes_along(self):
        out, golden = self.folder / "with", ROOT / "test/runtime/tokenizer/golden/gpt2"
        must("checkpoint", "export", self.run_, "-o", out, "--tokenizer", golden)
        for name in ("vocab.json", "merges.txt"):
            self.assertEqual((out / name).read_bytes(), (golden / name).read_bytes())

    def test_numbers_that_do_not_fit_are_refused(self):
        large, out = self.folder / "large", self.folder / "half"
        large.mkdir()
        tensors = safetensors.read(self.exported / "model.safetensors")
        tensors["transformer.wpe.weight"][1][7] = 1e5
        safetensors.write(large / "model.safetensors", tensors)
        (large / "config.json").write_bytes((self.exported / "config.json").read_bytes())
        must("checkpoint", "import", large, "-o", self.folder / "large-run")
        done = hocket("checkpoint", "export", self.folder / "large-run", "-o", out,
                      "--dtype", "float16", "--max-shard-size", "0.001")  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn("'transformer.wpe.weight' holds a number that F16 cannot", done.stderr)
        self.assertFalse(out.exists())
        beside = self.folder / "beside"
        beside.mkdir()
        (beside / "notes.txt").write_text("kept")
        done = hocket("checkpoint", "export", self.folder / "large-run", "-o", beside,
                      "--dtype", "float16")  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertEqual([each.name for each in beside.iterdir()], ["notes.txt"])

    def test_refuses_in_one_line_and_writes_nothing(self):
        before = sorted(self.folder.rglob("*"))
        new = self.folder / "new"
        for message, *arguments in (
            ("holds model.safetensors already", self.run_, "-o", self.exported),
            ("holds no tokenizer", self.run_, "-o", new, "--tokenizer", self.run_),
            ("--dtype", self.run_, "-o", new, "--dtype", "int8"),
            ("--max-shard-size", self.run_, "-o", new, "--max-shard-size", "0"),
        ):
            with self.subTest(message):
                done = hocket("checkpoint", "export", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


if __name__ == "__main__":
    unittest.main()
