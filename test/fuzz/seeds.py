# Part of Hocket, under the Apache License v2.0.
"""Sound files for each target of Target.h, from the tree and from `hocket`."""

import base64
import gzip
import json
import lzma
import pathlib
import re
import shutil
import struct
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANNING = ROOT / "test/planning"
WORDS = ROOT / "test/runtime/tokenizer/golden"
MEGATRON = ROOT / "test/runtime/megatron/golden"
WEIGHTS = ROOT / "test/runtime/checkpoint/golden"
HKX_HEADER = 48  # bytes; the target makes its own
CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "vocab_size": 257,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
SHARDINGS = """shardings
version 1
mesh dp=2 tp=2
split layers.*.up [dp,tp] # of all layers
split down [-,-]
split forward/linear [dp,-,tp] [-,tp] -> [dp,-,-]
"""
# "hello" and a line feed, as the program zstd writes it.
ZSTANDARD = bytes.fromhex("28b52ffd045831000068656c6c6f0a5388bd91")
# Of 13 tokens in one sequence, five of them learned, ended by token 256.
MASK = b"HKTMASK1" + struct.pack("<4Q", 13, 13, 256, 5) + bytes((0b00111110, 0))
PIECES = b"HKTWORD1" + struct.pack("<3Q", 13, 12, 3) + bytes((0b00110000, 0b1000))
# Two images of 2 x 2 pixels, of 3 tokens each, in two documents of 7 tokens.
IMAGES = b"HKTIMGS1" + struct.pack("<8Q", 2, 14, 2, 3, 9, 2, 2, 3) + bytes(range(24))
IMAGES += struct.pack("<3Q3I", 0, 2, 3, 1, 0, 1)
# Three samples of one chunk with two neighbours.
NEIGHBORS = b"HKTNEIGH" + bytes(range(64)) + struct.pack("<2Q", 16, 3)
NEIGHBORS += struct.pack("<12I", 1, 64, 0, 0, *[2**32 - 1] * 2, 5, 128, 1, 0, 2, 0)
NPY_HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }\n"
NPY = b"\x93NUMPY\1\0" + struct.pack("<H", len(NPY_HEADER)) + NPY_HEADER
NPY += struct.pack("<6f", 1, 2, 3, 4, 5, 6)
REQUESTS = (
    {"prompt": ["to be", "or"], "max_tokens": 3, "logprobs": 2, "echo": True, "n": 2},
    {"prompt": [116, 111], "stop": ["be", "x"], "seed": 7, "top_p": 0.9, "model": "fuzz"},
    {"prompts": ["to be"], "tokens_to_generate": 2, "logprobs": True, "top_k": 3},
    {"tokens": [116, 111]},
    {"messages": [{"role": "system", "content": "be"},
                  {"role": "user", "content": [{"type": "text", "text": "to"}]}],
     "max_tokens": 3, "logprobs": True, "top_logprobs": 2, "stream": True,
     "stream_options": {"include_usage": True}, "chat_template_kwargs": {"a": 1}},
)  # fmt: skip
GENERATION = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.1,
              "repetition_penalty": 1.05, "max_new_tokens": 64, "stop_strings": ["a", "b"],
              "eos_token_id": [2, 3], "num_beams": 4, "use_cache": True}  # fmt: skip
PLANS = ("pp=2,dp=4,tp=2,mbs=1,schedule=interleaved-1f1b,vpp=2,recompute=selective",
         "cp=2,ep=4,zero=2")  # fmt: skip


def conversation_about(image):
    """A request to a server."""
    kind = "png" if image.startswith(b"\x89PNG") else "jpeg"
    url = f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
    parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "be"}]
    talk = [{"role": "user", "content": parts}, {"role": "assistant", "content": "or"}]
    return {"messages": talk, "max_tokens": 2, "continue_final_message": True}


def in_tree(*patterns):
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


class Seeds:
    """Writes the files of each target into folders of `folder`."""

    def __init__(self, hocket, folder):
        self.hocket, self.folder = hocket, pathlib.Path(folder)
        self.beside = {}  # target: the folder of files that its input refers to

    def must(self, *arguments):
        command = [self.hocket, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{command}: {done.stderr}")
        return done.stdout

    def add(self, target, contents):
        """`contents`: paths, texts or bytes."""
        folder = self.folder / "seeds" / target
        folder.mkdir(parents=True)
        for number, content in enumerate(contents):
            if isinstance(content, pathlib.Path):
                content = content.read_bytes()
            elif isinstance(content, str):
                content = content.encode()
            (folder / str(number)).write_bytes(content)

    def write(self):
        self.texts()
        self.tokenizers()
        self.compressed()
        self.images()
        self.programs()
        self.weights()
        self.megatron()
        return {path.name: sorted(path.iterdir())
                for path in sorted((self.folder / "seeds").iterdir())}  # fmt: skip

    def texts(self):
        self.add("spec", in_tree("examples/*/*.textproto", "test/numerics/models/*"))
        self.add("config", [json.dumps(CONFIG, indent=1)])
        self.add("schedule", in_tree("test/planning/schedules/*.schedule"))
        self.add("schedule-problem", in_tree("test/planning/schedules/*.problem"))
        self.add("recompute-problem", in_tree("test/planning/recompute/*.recompute"))
        self.add("stage-balance", in_tree("test/planning/balance/*.balance"))
        self.add("plan-problem", in_tree("test/planning/plans/*.problem"))
        self.add("plan", PLANS)
        self.add("memory-table", in_tree("test/planning/memory/*.csv"))
        self.add("shardings", [SHARDINGS])
        self.add("chat-template", in_tree("test/runtime/chat/templates/*.jinja"))
        self.add("adapter-config", in_tree("test/numerics/golden/adapter/adapter_config.json",
                                           "test/numerics/golden/*/*/adapter_config.json"))  # fmt: skip
        self.add("generation-config", [json.dumps(GENERATION, indent=1)])
        self.add("loss-mask", [MASK])
        self.add("words", [PIECES])
        self.add("neighbors", [NEIGHBORS])
        self.add("npy", [NPY])
        self.add("cluster", in_tree("runtime/cluster/systems/*.textproto"))
        problems = in_tree("test/planning/strategy/*.json",
                           "test/planning/strategy/two-*.textproto")  # fmt: skip
        self.add("strategy-problem", problems)
        choice = self.folder / "chosen.textproto"
        self.must("strategy", "solve", PLANNING / "strategy/chain.json", "-o", choice)
        self.add("strategy-choice", [choice])

    def tokenizers(self):
        poem = self.folder / "poem.txt"
        poem.write_text("Tyger Tyger, burning bright,\nIn the forests of the night;\n" * 9)
        trained = self.folder / "trained"
        self.must("tokenizer", "train", poem, "--vocab-size", 290, "-o", trained)
        self.add("tokenizer-json", [trained / "tokenizer.json", WORDS / "llama3.json",
                                    WORDS / "qwen2.json"])  # fmt: skip
        self.add("sentencepiece", [WORDS / "bpe.model", WORDS / "unigram.model"])
        self.add("wordpiece", [WORDS / "bert-cased/vocab.txt"])
        pair = [trained / "vocab.json", trained / "merges.txt"]
        self.add("merges", [b"\0".join(path.read_bytes() for path in pair)])
        data = self.folder / "poem"
        self.must("data", "prepare", poem, "-o", data, "--tokenizer", trained)
        self.add("idx", self.folder.glob("poem_*.idx"))

    def images(self):
        golden = (ROOT / "test/runtime/data/golden/images.txt").read_text()
        lines = [line.split() for line in golden.splitlines()]
        images = [bytes.fromhex(w[2]) for w in lines if w[0] == "image"]
        self.add("image", images)
        about = [conversation_about(image) for image in (images[0], images[-1])]
        self.add("request", map(json.dumps, (*REQUESTS, *about)))
        self.add("images-file", [IMAGES])

    def compressed(self):
        text = (self.folder / "poem.txt").read_bytes()
        self.add("gzip", [gzip.compress(text), gzip.compress(text) + gzip.compress(b"x")])
        # Without checksums too: damage reaches the decoder.
        self.add("xz", [lzma.compress(text), lzma.compress(text, check=lzma.CHECK_NONE)])
        self.add("zstandard", [ZSTANDARD, 2 * ZSTANDARD])

    def programs(self):
        files = []
        for name, *options in (("llama",), ("deepseek_moe", "--mesh", "dp=2,pp=2")):
            files.append(self.folder / f"{name}.hkx")
            model = ROOT / f"test/numerics/models/{name}.textproto"
            self.must("compile", model, "-o", files[-1], *options)
        self.add("hkx-file", files)
        self.add("hkx", [path.read_bytes()[HKX_HEADER:] for path in files])

    def weights(self):
        files = in_tree("test/runtime/checkpoint/golden/*/*.safetensors")
        self.add("safetensors", files[:4])
        folder = self.folder / "index"
        folder.mkdir()
        (folder / "model-00001-of-00001.safetensors").write_bytes(files[0].read_bytes())
        header = files[0].read_bytes()
        header = json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])
        header.pop("__metadata__", None)
        names = dict.fromkeys(header, "model-00001-of-00001.safetensors")
        self.add("safetensors-index", [json.dumps({"metadata": {}, "weight_map": names})])
        self.beside["safetensors-index"] = folder
        self.checkpoint()

    def megatron(self):
        files = in_tree("test/runtime/megatron/golden/legacy/*/*_000/*.pt")
        common = next(MEGATRON.rglob("common.pt"))
        self.add("torch-save", [*files, common])
        with zipfile.ZipFile(files[0]) as file:
            (name,) = (name for name in file.namelist() if name.endswith("/data.pkl"))
            program = file.read(name)
        metadata = next(MEGATRON.rglob(".metadata"))
        self.add("pickle", [program, metadata])
        self.add("torch-metadata", [metadata])
        beside = self.folder / "shards"
        shutil.copytree(metadata.parent, beside, ignore=lambda *_: [".metadata"])
        self.beside["torch-metadata"] = beside

    def checkpoint(self):
        """One iteration, its manifest as version 1 had it: without a digest."""
        run, data = self.folder / "run", self.folder / "bytes"
        text = self.folder / "poem.txt"
        self.must("data", "prepare", text, "-o", data, "--tokenizer", "byte")
        model = ROOT / "test/numerics/models/llama.textproto"
        program = self.folder / "step.hkx"
        self.must("compile", model, "-o", program, "--set", "training.global_batch_size=2",
                  "--set", "training.data.split=1")  # fmt: skip
        self.must("train", program, "--data", data, "--steps", "1", "--save", run)
        manifest = next(run.rglob("manifest.json"))
        text = re.sub(r',\s*"sha256": "\w+"\s*}\s*$', "\n}\n", manifest.read_text())
        self.add("manifest", [re.sub(r'"version": *2', '"version": 1', text)])
        manifest.unlink()
        self.beside["manifest"] = manifest.parent
