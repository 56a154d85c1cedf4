# Part of Hocket, under the Apache License v2.0.
"""What kernels for Hopper do at barriers, read out of their sources: the steps
of a function in its order, under the conditions and loops in which they stand,
and the numbers and expressions that models need.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KERNELS = ROOT / "kernels/cuda"

# Which arguments of a function are a step's.
ARGUMENTS = {
    "fenceBarrierInit": [], "__syncthreads": [], "fenceProxyAsync": [],
    "beginToFetch": [], "beginToMultiply": [], "namedBarrierSync": [0, 1], "namedBarrierArrive": [0, 1],
    "fetchRows": [0, 2], "fetchStep": [0, 2], "beginDots": [2, 4], "beginSums": [3],
    "beginProducts": [2, 4], "storePacked": [0, 2],
    "clearFrom": [], "multiplyStep": [], "multiplyNext": [],
}  # fmt: skip
# Methods, by what they belong to.
METHODS = {
    "Ring": {"begin": "beginRing", "producerAcquire": "producerAcquire",
             "consumerWait": "consumerWait", "consumerRelease": "consumerRelease"},
    "Barrier": {"begin": "beginBarrier", "expect": "expect", "wait": "wait",
                "arrive": "arrive"},
}  # fmt: skip
# What is no step but looks like one must not be left out unseen.
WATCHED = re.compile(
    r"\w*[rR]ing\.|\w*[bB]arrier\w*\b|There\b|\border\b|\bnamedBarrier(?:Sync|Arrive)\b"
    r"|setmaxnreg\w*|\bwgmma\.(?:template )?wait|\bbegin(?:Dots|Sums|Products)\b|\bstorePacked\b"
)


def source(name):
    text = (KERNELS / name).read_text()
    return re.sub(r"//[^\n]*|^#pragma[^\n]*", "", text, flags=re.M)


def collapse(text):
    return re.sub(r"\s+", " ", text).strip()


def closing(text, start):
    """Where what opens at `start` is closed."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    raise ValueError(f"nothing closes: {text[start : start + 40]}")


def split(arguments):
    found, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [argument.strip() for argument in found]


def span(text, name):
    """The body of a function, between its braces: (first, last)."""
    for match in re.finditer(rf"\b{name}\(", text):
        end = closing(text, match.end() - 1)
        body = re.compile(r"\s*(?:const\s*)?(?::[^{;]*)?\{").match(text, end + 1)
        if body:
            return body.end(), closing(text, body.end() - 1)
    raise ValueError(f"no function {name}")


def body(text, name):
    first, last = span(text, name)
    return text[first:last]


def statements(text):
    """The statements of a body: (text, None), or, of a condition, a loop or a
    lambda expression, (its head, its statements)."""
    at, found = 0, []
    while at < len(text):
        if text[at] in " \n;}":
            at += 1
            continue
        if text[at] == "{":
            end = closing(text, at)
            found += statements(text[at + 1 : end])
            at = end + 1
            continue
        control = re.compile(r"(?:if constexpr|if|for|while) ?(?=\()|else\b").match(text, at)
        if control:
            head = control.end()
            if control[0] != "else":
                head = closing(text, head) + 1
            inside = re.compile(r"\s*").match(text, head).end()
            end = extent(text, inside)
            found.append((collapse(text[at:head]), statements(text[inside:end])))
            at = end
            continue
        end = extent(text, at)
        one = text[at:end].rstrip("; \n")
        named = re.match(r"auto (\w+) = \[&?\]\([^)]*\) \{", one)
        if named:
            found.append((named[1], statements(one[named.end() : -1])))
        else:
            found.append((collapse(one), None))
        at = end
    return found


def extent(text, at):
    """The end of the statement that begins there."""
    if text[at] == "{":
        return closing(text, at) + 1
    control = re.compile(r"(?:if constexpr|if|for|while) ?(?=\()").match(text, at)
    if control:
        head = closing(text, control.end()) + 1
        end = extent(text, re.compile(r"\s*").match(text, head).end())
        other = re.compile(r"\s*else\s+").match(text, end)
        return extent(text, other.end()) if other else end
    while text[at] != ";":
        at = closing(text, at) + 1 if text[at] in "([{" else at + 1
    return at + 1


class Steps:
    """The steps of one function, and of each lambda expression in it, as text
    that models have, too: "consumerWait(keyRing, tile - 1)"."""

    def __init__(self, text, name, rewrites=()):
        self.rewrites, self.aliases, self.lambdas = rewrites, {}, {}
        whole = collapse(text)
        self.kinds = {"ring": "Ring"}
        for kind, names in re.findall(r"\b(TileRing|Mbarrier)(?:<\w+>)? ([\w, ]+);", whole):
            kind = "Ring" if kind == "TileRing" else "Barrier"
            self.kinds |= dict.fromkeys(names.split(", "), kind)
        self.steps = self.of(statements(body(text, name)))

    def of(self, parts):
        found = []
        for text, inside in parts:
            if inside is None:
                found += self.step(text)
            elif re.fullmatch(r"\w+", text) and text != "else":
                if steps := self.of(inside):
                    self.lambdas[text] = steps
            elif steps := self.of(inside):
                found += [self.rewrite(text), *steps]
        return found

    def rewrite(self, text):
        text = re.sub(r"\b(?:Gemm::)?(Roles::)", r"\1", text)
        return re.sub(r"\b(Tile|Own)::bytes", r"\1_bytes", text)

    def step(self, text):
        text = self.rewrite(text)
        if text == "return":
            return [text]
        for pattern, steps in self.rewrites:
            if re.fullmatch(pattern, text):
                return list(steps)
        text = re.sub(r"(\w+)\.barrier\(([^()]*)\)", r"barrier(\1, \2)", text)
        alias = re.fullmatch(r"Mbarrier &(\w+) = (barrier\(.*\))", text)
        if alias:
            self.aliases[alias[1]] = alias[2]
            return []
        for name, meaning in self.aliases.items():
            text = re.sub(rf"\b{name}\b(?!\()", meaning, text)
        method = re.fullmatch(
            r"(\w+|barrier\([^()]*\))\.(?:template )?(\w+)(?:<(\d)>)?\((.*)\)", text
        )
        if method:
            return self.method(*method.groups())
        called = re.fullmatch(r"(?:Roles::)?(\w+)(?:<[^()]*>)?\((.*)\)", text)
        if called and called[1] in self.lambdas:
            return [text]
        if called and called[1] in ARGUMENTS:
            arguments = split(called[2])
            chosen = [arguments[i] for i in ARGUMENTS[called[1]]]
            return [f"{called[1]}({', '.join(chosen)})"]
        declares = re.match(r"(__shared__ |OrderedSequence<)", text)
        if WATCHED.search(text) and not declares:
            raise ValueError(f"no step of a model is known for: {text}")
        return []

    def method(self, of, name, number, arguments):
        if of == "wgmma":
            return [f"waitWgmma({number})"] if name == "wait" else []
        if of == "gemm":
            return [f"{name}()"]
        if of == "order":
            return [f"{name}Ordered({arguments})"]
        kind = "Barrier" if of.startswith("barrier(") else self.kinds.get(of)
        if kind is None:
            return []
        return [f"{METHODS[kind][name]}({of}{', ' if arguments else ''}{arguments})"]


def matched(pattern, text):
    found = re.search(pattern, collapse(text))
    if not found:
        raise ValueError(f"no more is like {pattern}")
    return found.groups()


def protocol_parameters(text):
    """What TileRing, OrderedSequence and the block's roles compute: of TensorCopies.cuh."""
    ring = text[text.index("class TileRing") :]
    stage, stage_phase = matched(r"free\[(.*?)\]\.wait\((.*?)\);", body(ring, "producerAcquire"))
    tile, tile_phase = matched(r"there\[(.*?)\]\.wait\((.*?)\);", body(ring, "consumerWait"))
    (there,) = matched(r"return there\[(.*?)\];", body(ring, "barrier"))
    (given,) = matched(
        r"__syncwarp\(\); if \(threadIdx\.x % 32 == 0\) free\[(.*?)\]\.arrive\(\);",
        body(ring, "consumerRelease"),
    )
    matched(r"there\[i\]\.begin\(producers\); free\[i\]\.begin\(consumers\);", body(ring, "begin"))
    order = text[text.index("class OrderedSequence") :]
    waits, meets = matched(r"^if \((.*?)\) namedBarrierSync\((.*?)\); isFirst = false;$", body(order, "begin"))
    signals, signalled = matched(r"^if \((.*?)\) namedBarrierArrive\((.*?)\);$", body(order, "end"))
    ring_expressions = {
        "STAGE_ACQUIRED": stage, "PHASE_OF_STAGE": stage_phase, "TILE_AWAITED": tile,
        "PHASE_OF_TILE": tile_phase, "STAGE_FULL": there, "STAGE_RELEASED": given,
    }  # fmt: skip
    found = {f"{name}(i, Stages)": f"({of})" for name, of in ring_expressions.items()}
    found |= {"ORDER_WAITS": f"({waits})", "ORDER_SYNCS": meets}
    found |= {"ORDER_ARRIVES(isLast)": f"({signals})", "ORDER_ARRIVED": signalled}
    return {name: re.sub(r"\bGroups\b", "GROUPS", of) for name, of in found.items()}


def register_parameters(text, groups):
    """What WarpRoles gives and takes, and what a launch gives each thread."""
    roles = text[text.index("struct WarpRoles") :]
    given, taken = matched(r"setmaxnregDec<(\d+)>.*setmaxnregInc<(\w+)>", roles)
    number, few, many = matched(rf"int {taken} = Groups == (\d) \? (\d+) : (\d+);", roles)
    launched = 65536 // (128 * (groups + 1)) // 8 * 8
    return {
        "GROUPS": groups, "GIVEN": given, "LAUNCHED": min(255, launched),
        "TAKEN": few if groups == int(number) else many,
    }  # fmt: skip


def kernel_parameters(text, name):
    """Where a kernel's rings, barriers and tiles lie."""
    inside = collapse(body(text, name))
    rings, barriers, found = [], [], {}
    for stages, names in re.findall(r"TileRing<(\w+)> ([\w, ]+);", inside):
        rings += [(ring, stages) for ring in names.split(", ")]
    for names in re.findall(r"__shared__ Mbarrier ([\w, ]+);", inside):
        barriers += names.split(", ")
    for lambda_, stage in re.findall(
        r"auto (\w+) = \[&\]\(int i\) \{ return Tile\{start \+ (.*?) \* Tile::bytes\}; \};", inside
    ):
        stage = re.sub(r"\bi\b", "at(i)", stage)
        found[f"{lambda_}(i)"] = f"({stage}), at(i)"
    for own in re.findall(r"\bOwn (\w+\{[^;]*);", inside):
        for i, tensor in enumerate(re.findall(r"(\w+)\{", own)):
            found[tensor] = f"STAGES + {i}, 0"
    return found | barrier_parameters(rings, barriers)


def barrier_parameters(rings, barriers):
    found, start = {}, "0"
    for ring, stages in rings:
        found |= {f"{ring}_Start": f"({start})", f"{ring}_Stages": stages}
        start += f" + 2 * {stages}"
    for i, barrier in enumerate(barriers):
        found[barrier] = f"({start} + {i})"
    return found | {"BARRIERS": f"({start} + {len(barriers)})"}


def gemm_parameters(text):
    """The same of WarpgroupGemm."""
    (stages,) = matched(r"using Ring = TileRing<(\w+)>;", text)
    (stage,) = matched(r"return start \+ (.*) \* kGroupStageBytes;", body(text, "stage"))
    stage = re.sub(r"\bi\b", "at(i)", stage)
    matched(r"return \{stage\(i\)\};", body(text, "left"))
    matched(r"return \{stage\(i\) \+ Left::bytes\};", body(text, "right"))
    return barrier_parameters([("ring", stages)], []) | {
        "left(i)": f"(2 * ({stage}) + 0), at(i)", "right(i)": f"(2 * ({stage}) + 1), at(i)",
    }  # fmt: skip


def constants(text, functions, folder):
    """The constants of Geometry.cuh, and the kernels' own for each shape that
    there are kernels for: [(function, {name: value})]."""
    launches = (KERNELS / "launches/AttentionLaunches.cpp").read_text()
    dims = sorted({int(dim) for dim in re.findall(r"s\.dim == (\d+)", launches)})
    geometry = re.findall(r"\b(k[A-Z]\w+) =", source("Geometry.cuh"))
    lines = ['#include "kernels/cuda/Geometry.cuh"', "#include <cstdio>",
             "using namespace hocket::cuda;"]  # fmt: skip
    calls = []
    for function in functions:
        own = re.findall(r"constexpr (?:int|bool) [^;]*;", body(text, function))
        own = [one for one in own if not re.search(r"Shape::(?!dim|dropout|part)", one)]
        names = re.findall(r"(\w+) =", " ".join(own))
        prints = "".join(f'  printf(" {n}=%d", {n});\n' for n in names)
        lines += [
            f"template <class Shape> void {function}() {{",
            f'  printf("\\n{function} dim=%d", Shape::dim);',
            *own, f"{prints}}}",
        ]  # fmt: skip
        for dim in dims:
            for dropout in (0, 1):
                for part in (0, 64, 192):
                    shape = f"Shape{len(calls)}"
                    lines.append(
                        f"struct {shape} {{ static constexpr int dim = {dim}, dropoutThreshold ="
                        f" {dropout}; static constexpr long long part = {part}; }};"
                    )
                    calls.append(f"{function}<{shape}>();")
    lines += ["int main() {", *(f'printf(" {k}=%d", {k});' for k in geometry), *calls, "}"]
    program = folder / "constants"
    program.with_suffix(".cpp").write_text("\n".join(lines))
    command = ["clang++-19", "-std=c++20", "-w", f"-I{ROOT}", f"{program}.cpp", "-o", program]
    subprocess.run(command, check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    shared, *rest = said.split("\n")
    shared = dict(pair.split("=") for pair in shared.split())
    found = []
    for line in dict.fromkeys(rest):
        function, *pairs = line.split()
        found.append((function, dict(pair.split("=") for pair in pairs)))
    return shared, found
