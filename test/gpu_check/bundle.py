# Part of Hocket, under the Apache License v2.0.
"""What is taken to a machine with a GPU: programs, tests, data, libraries.

    DIR/run          hocket-gpu-check itself, with gpu_check/ and what it needs
    DIR/bin          the runtime, tests and benchmarks
    DIR/lib          shared libraries they need, but for those of glibc;
                     lib/base: libstdc++ and libgcc, for where they are older
    DIR/programs     executables for the GPU
    DIR/data         token files
    DIR/expected     what the CPU target's training logged
    DIR/manifest.json  all of it, with digests
"""

import array
import dataclasses
import hashlib
import itertools
import json
import pathlib
import platform
import random
import re
import shutil
import struct
import subprocess

import token_files

MOST_BYTES = 64 << 20
BINARIES = ("bin/hocket-runtime", "bin/program_times", "test/bin/hal-test",
            "test/bin/kernels_cuda_device_test")  # fmt: skip
GLIBC = re.compile(r"(lib(c|m|dl|rt|pthread|resolv)|ld-linux.*|linux-vdso)\.so")
BASE = re.compile(r"lib(stdc\+\+|gcc_s)\.so")
TOKENS, LEAST_VOCABULARY = 200_000, 32000
MOVED_RUNS = 4


class Unusable(Exception):
    """Why there is no bundle, or nothing to do with it."""


@dataclasses.dataclass
class Model:
    """A program to be timed, and its sizes for PyTorch."""

    name: str
    spec: str
    batches: tuple  # to be tried, most first
    sequence: int
    layers: tuple = (None,)  # to be tried, most first; None: the spec's
    beside: str = ""  # in fp8, with the sizes of this model, which is in bf16
    in_pytorch: bool = True  # torch_train.py has it, too
    options: tuple = ()  # of `hocket compile`

    def settings(self, batch):
        return (FP8 if self.beside else {}) | {
            "training.micro_batch_size": batch,
            "training.global_batch_size": batch,
            "training.sequence_length": self.sequence,
            "plan.recompute": "NONE",
        }


FP8 = {"training.precision": "BF16", "training.fp8_format": "HYBRID"}
LLAMA_LAYERS = tuple(range(32, 0, -1))
OF_PYTORCH = 0.6  # of its memory, what Hocket takes of the same layers
MODELS = (
    Model("gpt2-124m", "gpt2-124m", (64, 32), 1024),
    Model("gpt2-124m-joint", "gpt2-124m", (64, 32), 1024, in_pytorch=False,
          options=("--attention-gradient", "joint")),  # fmt: skip
    Model("gpt2-1.5b", "gpt2-1.5b", (32, 16, 8), 1024),
    Model("llama-8k", "llama-3-8b", (1,), 8192, LLAMA_LAYERS),
    Model("llama-8k-fp8", "llama-3-8b", (1,), 8192, beside="llama-8k"),
    Model("llama-4k", "llama-3-8b", (2,), 4096, LLAMA_LAYERS),
    Model("mixtral-4k", "mixtral-8x7b", (2,), 4096, (3, 2, 1), in_pytorch=False),
)
TINY = """name: "tiny"
model { layers: 2 hidden: 64 heads: 1 ffn: 128 vocab_size: 61 max_positions: 32
        activation: GELU_TANH }
training { micro_batch_size: 2 sequence_length: 32 steps: 6 precision: BF16 }
"""
TINY_SPECS = {
    "tiny": TINY,
    "tiny-moe": TINY.replace(
        "activation:", "moe { experts: 4 top_k: 2 }\n        mlp_bias: false activation:"
    ),
}
TINY_MODELS = (
    Model("tiny", "tiny", (2,), 32),
    Model("tiny-moe", "tiny-moe", (2,), 32, in_pytorch=False),
    Model("tiny-fp8", "tiny", (2,), 32, beside="tiny"),
)


def run(*command, **options):
    """(status, stdout, stderr) of a program; 127 where there is none."""
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True,
            check=False, **options,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, "", str(error)
    return done.returncode, done.stdout, done.stderr


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def learnable_tokens(vocabulary, count):
    """Each mostly follows from the one before."""
    source, token = random.Random(1), 1
    for _ in range(count):
        if source.random() < 0.2:
            token = source.randrange(vocabulary)
        else:
            token = (token * 5 + 3) % vocabulary
        yield token


def greatest_difference(log, other):
    """Of two training logs' losses, relative."""
    pairs = zip(log, other, strict=True)
    return max(abs(a["loss"] / b["loss"] - 1) for a, b in pairs)


def read_log(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if "loss" in line]


def move_weights(folder, seed):
    """Every weight of a checkpoint by at most the unit roundoff of bf16."""
    path, manifest = folder / "model.safetensors", folder / "manifest.json"
    data = path.read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    weights, draw = array.array("f", data[begin:]), random.Random(seed).uniform
    weights = array.array("f", [w * (1 + draw(-1, 1) / 512) for w in weights])
    before = digest(path)
    path.write_bytes(data[:begin] + weights.tobytes())
    text = manifest.read_text().replace(before, digest(path))
    # Its own digest, at the end, is of everything before.
    content = text[: text.rindex('"sha256"')]
    own = hashlib.sha256(content.encode()).hexdigest()
    manifest.write_text(f'{content}"sha256": "{own}"\n}}\n')


class Preparation:
    """Fills a folder."""

    def __init__(self, arguments, source):
        self.arguments, self.source = arguments, source
        self.build, self.folder = arguments.build.resolve(), arguments.prepare
        self.hocket = self.build / "bin/hocket"
        self.examples = source.parents[1] / "examples"
        self.sizes = {}  # (batch, layers) of each model that was compiled

    def say(self, text):
        print(text, flush=True)

    def need(self, *paths):
        missing = [str(path) for path in paths if not path.exists()]
        if missing:
            raise Unusable(
                f"{', '.join(missing)}: not built; run `ninja -C {self.build} "
                "hocket hocket-runtime program_times hal-test "
                "kernels_cuda_device_test`"
            )

    def spec(self, name):
        if name not in TINY_SPECS:
            return self.examples / name / "spec.textproto"
        path = self.folder / f"programs/{name}.textproto"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TINY_SPECS[name])
        return path

    def compile(self, spec, name, settings, *options):
        """An executable; an error is text."""
        out = self.folder / "programs" / f"{name}.hkx"
        out.parent.mkdir(parents=True, exist_ok=True)
        common = {
            "training.log_interval": 1,
            "training.validation.interval": 0,
            "training.data.split": "1,0,0",
        }
        sets = [f"--set={k}={v}" for k, v in (common | settings).items()]
        status, _, error = run(
            self.hocket, "compile", self.spec(spec), *sets, *options, "-o", out
        )
        return error if status else None

    def gpu_options(self):
        options = ["--target", "cuda"]
        return options + (["--arch", self.arch] if self.arch else [])

    def copy_binaries(self):
        binaries = [self.build / path for path in BINARIES]
        self.need(self.hocket, *binaries)
        (self.folder / "bin").mkdir(parents=True)
        (self.folder / "lib/base").mkdir(parents=True)
        for binary in binaries:
            target = self.folder / "bin" / binary.name
            shutil.copy2(binary, target)
            run("strip", "--strip-unneeded", target)
            self.copy_libraries(binary)

    def copy_libraries(self, binary):
        status, output, error = run("ldd", binary)
        if status or "not found" in output:
            raise Unusable(f"ldd {binary}: {error or output}")
        for name, path in re.findall(r"(\S+) => (/\S+)", output):
            if GLIBC.match(name):
                continue
            place = "lib/base" if BASE.match(name) else "lib"
            shutil.copy2(path, self.folder / place / name)

    def glibc(self):
        """The version that something of the bundle asks for."""
        found = {(2, 2)}
        for path in (*self.folder.glob("bin/*"), *self.folder.glob("lib/*.so*"),
                     *self.folder.glob("lib/base/*")):  # fmt: skip
            for text in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes()):
                found.add((2, int(text)))
        return ".".join(map(str, max(found)))

    def train_on_cpu(self, name, *options):
        """The log of a run of the CPU target."""
        log = self.folder / "expected" / f"{name}.jsonl"
        log.parent.mkdir(exist_ok=True)
        status, _, error = run(
            self.hocket, "train", self.folder / "programs/cpu.hkx", "--data",
            self.folder / "data/learnable", "--log", log, *options,
        )  # fmt: skip
        if status:
            raise Unusable(f"training on this machine: {error}")
        return log

    def cpu_logs(self, name, steps):
        """Of a run, and of others whose first weights differ by less than what
        rounding to bf16 takes away: how far apart these are is how well any run
        in bf16 repeats."""
        first = self.folder / "first-weights"
        self.train_on_cpu("none", "--steps", 0, "--save", first)
        logs = [self.train_on_cpu(name, "--steps", steps)]
        for seed in range(1, 1 + MOVED_RUNS):
            self.say(f"run {seed} of {MOVED_RUNS} of {name} with moved weights")
            moved = self.folder / "moved-weights"
            shutil.copytree(first, moved)
            move_weights(moved / "iter_0000000", seed)
            options = ("--steps", steps, "--load", moved)
            logs.append(self.train_on_cpu(f"{name}-{seed}", *options))
            shutil.rmtree(moved)
        shutil.rmtree(first)
        (self.folder / "expected/none.jsonl").unlink(missing_ok=True)
        return logs

    def prepare_parity(self, ending, more):
        """The program `parity` with this ending, and what the CPU target's run
        with these settings logs."""
        model, steps, vocabulary = "nano", 100, 257
        if self.arguments.tiny:
            model, steps, vocabulary = "tiny", 6, 61
        name, program = model + ending, "parity" + ending
        tokens = list(learnable_tokens(vocabulary, 100 * steps * 16))
        token_files.write(self.folder / "data/learnable", [tokens])
        settings = {"training.steps": steps, "training.precision": "BF16"} | more
        for target, options in (("cpu", ()), (program, self.gpu_options())):
            error = self.compile(model, target, settings, *options)
            if error:
                raise Unusable(f"{name}: {error}")
        self.say(f"training {name} on this machine's processor")
        paths = self.cpu_logs(name, steps)
        (self.folder / "programs/cpu.hkx").unlink()
        logs = [read_log(path) for path in paths]
        pairs = itertools.combinations(logs, 2)
        return {
            "model": name,
            "program": f"programs/{program}.hkx",
            "data": "data/learnable",
            "steps": steps,
            "expected": f"expected/{paths[0].name}",
            "band": 2 * max(greatest_difference(a, b) for a, b in pairs),
        }

    def sizes_of(self, model):
        """The (batch, layers) that are tried in turn."""
        if model.beside in self.sizes:
            return [self.sizes[model.beside]]
        return list(itertools.product(model.batches, model.layers))

    def memory_for(self, model):
        """What `model` may take. Where layers are cut until they fit, PyTorch is to
        have room for them, too."""
        number, unit = re.fullmatch(r"([\d.]+)(\D+)", self.arguments.memory).groups()
        share = OF_PYTORCH if model.in_pytorch and model.layers != (None,) else 1
        return f"{float(number) * share:g}{unit}"

    def prepare_model(self, model):
        """Its entry of the manifest, or why there is none."""
        options = [*self.gpu_options(), *model.options]
        if not self.arguments.tiny:
            options += ["--memory", self.memory_for(model)]
        for batch, layers in self.sizes_of(model):
            settings = model.settings(batch) | {"training.steps": 1000}
            more = {"model.layers": layers} if layers else {}
            error = self.compile(model.spec, model.name, settings | more, *options)
            if not error:
                self.sizes[model.name] = batch, layers
                self.say(
                    f"compiled {model.name}, {batch} x {model.sequence}"
                    + (f", {layers} layers" if layers else "")
                )
                return {
                    "name": model.name, "program": f"programs/{model.name}.hkx",
                    "batch": batch, "sequence": model.sequence,
                    "spec": model.spec, "layers": layers, "beside": model.beside,
                    "in_pytorch": model.in_pytorch and not model.beside,
                }  # fmt: skip
            if "S42" not in error:
                raise Unusable(f"{model.name}: {error}")
        return {"name": model.name, "missing": error.strip()}

    def fill(self):
        if self.folder.exists() and any(self.folder.iterdir()):
            raise Unusable(f"{self.folder} is not empty")
        self.copy_binaries()
        _, doctor, _ = run(self.hocket, "doctor")
        has_nvrtc = re.search(r"^NVRTC +found", doctor, re.MULTILINE)
        named = self.arguments.arch != "none"
        self.arch = self.arguments.arch if has_nvrtc and named else None
        source, most = random.Random(0), 61 if self.arguments.tiny else LEAST_VOCABULARY
        count = 20_000 if self.arguments.tiny else TOKENS
        tokens = [source.randrange(most) for _ in range(count)]
        token_files.write(self.folder / "data/random", [tokens])
        models = TINY_MODELS if self.arguments.tiny else MODELS
        manifest = {
            "tiny": self.arguments.tiny,
            "machine": platform.machine(),
            "glibc": self.glibc(),
            "arch": self.arch,
            "parity": self.prepare_parity("", {}),
            "parity_fp8": self.prepare_parity("-fp8", FP8),
            "models": [self.prepare_model(model) for model in models],
        }
        shutil.copy2(self.source / "hocket-gpu-check", self.folder / "run")
        (self.folder / "gpu_check").mkdir()
        for path in sorted(self.source.glob("*.py")):
            shutil.copy2(path, self.folder / "gpu_check" / path.name)
        shutil.copy2(token_files.__file__, self.folder)
        return self.finish(manifest)

    def finish(self, manifest):
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        manifest["files"] = {
            str(path.relative_to(self.folder)): digest(path) for path in files
        }
        text = json.dumps(manifest, indent=1) + "\n"
        (self.folder / "manifest.json").write_text(text)
        size = sum(path.stat().st_size for path in files) + len(text)
        if size > MOST_BYTES:
            raise Unusable(f"{self.folder} has {size:,} bytes, more than {MOST_BYTES:,}")
        return (
            f"{self.folder}: {len(files)} files, {size / 2**20:.1f} MiB, for "
            f"{manifest['machine']} with glibc {manifest['glibc']} or later; on the "
            f"machine with the GPU: {self.folder.name}/run"
        )


def prepare(arguments, source):
    return Preparation(arguments, source).fill()


class Bundle:
    """A folder that was prepared, checked."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        path = self.folder / "manifest.json"
        if not path.exists():
            raise Unusable(
                f"{path} is missing: fill a folder with --prepare DIR where Hocket "
                "was built, and run DIR/run where the GPU is"
            )
        self.manifest = json.loads(path.read_text())
        for name, expected in self.manifest["files"].items():
            if not (self.folder / name).is_file() or digest(self.folder / name) != expected:
                raise Unusable(f"{self.folder / name} is not what was prepared")
        self.check_machine()

    def check_machine(self):
        machine, wanted = platform.machine(), self.manifest["machine"]
        if machine != wanted:
            raise Unusable(f"the bundle is for {wanted}, this machine is {machine}")
        library, version = platform.libc_ver()
        have = tuple(int(part) for part in re.findall(r"\d+", version))
        need = tuple(int(part) for part in self.manifest["glibc"].split("."))
        if library != "glibc" or have < need:
            raise Unusable(
                f"the bundle needs glibc {self.manifest['glibc']} or later, this "
                f"machine has {library or 'another C library'} {version}"
            )

    def path(self, name):
        return self.folder / name
