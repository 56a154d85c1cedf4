# Part of Hocket, under the Apache License v2.0.
"""The kernels of sources that `hocket compile --emit=cuda` wrote, each kind once.

Programs share most of their kernels, and many differ in sizes alone. Two kernels
are of one kind if their text is the same but for names, comments and

  - in fused kernels, numbers of three digits and more (rows, columns) and of
    fractions (rates, and what a row's length is divided by);
  - in attention, the numbers of its shape that loops only count to: batches, heads
    where there are as many of keys, rows, windows and parts that are not 0.
"""

import re
from dataclasses import dataclass, field

FUSED, LIBRARY = "kernels.cu", "library.cu"
START = "using namespace hocket::cuda;"
HEAD = re.compile(r'extern "C" __global__ void __launch_bounds__\((\d+)[^)]*\)\s*(\w+)\(')
SHAPE = re.compile(r"_shape \{\n(.*?)\n\};", re.S)
SIZES = {"batch", "queries", "keys", "heads", "kvHeads", "sequence", "wholeHeads",
         "tokens", "rows", "tablePages", "pages"}  # fmt: skip
GPUS_BUT_HOPPER = "#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)"
HOPPER = "#if defined(HOCKET_HOPPER)"


@dataclass
class Kernel:
    """The first of its kind."""

    symbol: str
    text: str  # with $ for the symbol, without comments
    source: str  # FUSED or LIBRARY
    includes: str
    threads: int  # of a block
    where: list[str] = field(default_factory=list)  # programs

    @property
    def is_fused(self):
        return self.source == FUSED

    @property
    def function(self):
        """Of kernels/cuda, or of the compiler: "rms_norm_128x128_bf16"."""
        if self.is_fused:
            return self.symbol.removeprefix("hocket_kernel_")
        return self.symbol.split("_")[1]

    @property
    def name(self):
        """For people: what it is, and which."""
        shape = self.shape
        types = [f"{shape['T']} {shape['dim']}"] if shape else self.types
        if shape and shape["dropoutThreshold"] != "0u":
            types = [*types, "dropout"]
        if shape.get("documents") == "true":
            types = [*types, "documents"]
        if self.is_capped:
            types = [*types, "softcap"]
        if shape.get("alibi") == "true":
            types = [*types, "alibi"]
        if shape.get("biased") == "true":
            types = [*types, "relative"]
        return self.function + (f"<{', '.join(types)}>" if types else "")

    @property
    def types(self):
        """Of the template: ["bf16", "false"]."""
        called = re.search(rf"\n  {self.function}<([^;]*?)>\(", self.text)
        return called[1].split(", ") if called else []

    @property
    def shape(self):
        """{name: value} of what attention is compiled for."""
        found = SHAPE.search(self.text)
        return dict(re.findall(r"(\w+) = ([^;]+);", found[1])) if found else {}

    @property
    def is_capped(self):
        """Whether attention bends its scores to stay within a bound."""
        return float.fromhex(self.shape.get("softcap", "0").rstrip("f")) > 0

    @property
    def kind(self):
        if self.is_fused:
            text = re.sub(r"(?<![\w.])\d+\.\d+(e[-+]\d+)?f", "F", self.text)
            return re.sub(r"(?<![\w.])\d{3,}(?![\w.])", "N", text)
        shape = self.shape
        if not shape:
            return self.text
        known = {name: value for name, value in shape.items() if name not in SIZES}
        known["window"], known["part"] = shape["window"] != "0", shape.get("part", "0") != "0"
        known["rounds"] = shape.get("rounds", "1") != "1"
        known["grouped"] = shape["heads"] != shape["kvHeads"]
        return f"{self.function} {self.types} {self.threads} {sorted(known.items())}"

    def is_for(self, arch):
        if self.text.startswith(GPUS_BUT_HOPPER):
            return arch != "sm_90a"
        return arch == "sm_90a" or not self.text.startswith(HOPPER)


def kernels_of(path):
    """Those of one source."""
    includes, body = path.read_text().split(START)
    for part in re.split(r"\n\n(?=//)", body.strip()):
        head = HEAD.search(part)
        if not head:
            raise AssertionError(f"{path}: no kernel in\n{part}")
        text = re.sub(r"[ \t]*//[^\n]*", "", part).strip().replace(head[2], "$")
        yield Kernel(head[2], text, path.name, includes + START + "\n", int(head[1]))


def kinds_of(programs):
    """{kind: Kernel} of {program: the folder of its sources}, and how many kernels
    there are, and how many that differ."""
    kinds, count, texts = {}, 0, set()
    for program, folder in programs.items():
        for source in (FUSED, LIBRARY):
            for kernel in kernels_of(folder / source):
                count += 1
                texts.add(kernel.text)
                kinds.setdefault(kernel.kind, kernel).where.append(program)
    return kinds, count, len(texts)


def sources_of(kernels, each):
    """(text, {symbol in it: Kernel}): `each` kernels share their headers. What takes
    long to compile stands together, so every source gets some of it."""
    for group in (FUSED, LIBRARY):
        of_group = [kernel for kernel in kernels if kernel.source == group]
        parts = -(-len(of_group) // each)
        for part in (of_group[i::parts] for i in range(parts)):
            symbols = {f"kernel{i}": kernel for i, kernel in enumerate(part)}
            lines = {line for kernel in part for line in kernel.includes.split("\n")}
            includes = sorted(line for line in lines if line.startswith("#include"))
            texts = (k.text.replace("$", symbol) for symbol, k in symbols.items())
            yield "\n".join([*includes, START, *texts, ""]), symbols
