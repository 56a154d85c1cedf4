# Part of Hocket, under the Apache License v2.0.
"""Which folder may include which."""

import re

from lint.tree import FOLDERS

INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]', re.M)

# A folder, and the folders it may include beside itself. The longest prefix of
# a file's path decides; what no row names may include nothing of ours.
ALLOWED = {
    "kernels": [],
    "kernels/reference": [],
    "kernels/library": ["kernels/reference"],
    "kernels/cpu": ["kernels/library", "kernels/reference"],
    "kernels/cuda": ["kernels/library", "kernels/reference"],
    "base": [],
    "runtime/program": ["base", "kernels"],
    "runtime/hal": ["base", "runtime/cuda", "runtime/nvrtc", "kernels"],
    "runtime/cuda": ["base"],
    "runtime/nvrtc": ["base", "runtime/cuda"],
    "runtime/comm": [
        "base",
        "runtime/cuda",
        "runtime/hal/interfaces",
        "kernels",
    ],
    "runtime/telemetry": ["base", "runtime/predict", "runtime/program"],
    "runtime/cluster": ["base"],
    "runtime/predict": [
        "base",
        "runtime/cluster",
        "runtime/program",
        "kernels",
    ],
    "runtime/tokenizer": ["base"],
    "runtime/chat": ["base"],
    "runtime/data": ["base", "runtime/chat", "runtime/tokenizer"],
    "runtime/checkpoint": ["base"],
    "runtime/megatron": ["base", "runtime/checkpoint"],
    "runtime/executor": [
        "base",
        "runtime/program",
        "runtime/hal",
        "runtime/comm",
        "runtime/telemetry",
    ],
    "runtime/train": ["base", "runtime", "!runtime/tools", "kernels"],
    "runtime/inference": ["base", "runtime", "!runtime/evaluate", "!runtime/serve", "!runtime/tools"],
    "runtime/evaluate": ["base", "runtime/inference", "runtime/tokenizer"],
    "runtime/serve": ["base", "runtime/chat", "runtime/inference", "runtime/program",
                      "runtime/tokenizer", "runtime/train"],
    "runtime/tools": ["base", "runtime"],
    "dialects/plan": ["base"],
    # What levels, most of which may not include each other, say alike.
    "dialects/step": [],
    # How many microbatches a step has, and what the entries are called, is one
    # matter from the specification to the trainer.
    "dialects/xf": ["dialects/step", "kernels/reference", "base/BatchSizes", "base/ScanFlops"],
    "dialects/dist": ["dialects/step", "dialects/xf", "base/AxisKind"],
    "dialects/pipe": ["dialects/dist", "dialects/step", "dialects/xf"],
    "dialects/kern": ["dialects/step", "kernels/reference"],
    "dialects/exec": ["dialects/step"],
    # What a plan is, without the attribute: planning knows no MLIR.
    "passes/planning": [
        "base",
        "runtime/cluster",
        "dialects/plan",
        "!dialects/plan/IR",
    ],
    "passes/conversion": ["dialects"],
    "passes/analysis": ["dialects", "passes/planning", "base/ScanFlops"],
    "passes/xf": ["dialects/xf", "dialects/plan", "passes/analysis", "passes/planning"],
    "passes/dist": [
        "dialects/dist",
        "dialects/xf",
        "dialects/plan",
        "passes/analysis",
        "passes/planning",
        "base/AxisKind",
        "runtime/cluster",
    ],
    "passes/pipe": [
        "dialects/pipe",
        "dialects/dist",
        "dialects/xf",
        "dialects/plan",
        "passes/analysis",
        "passes/planning",
        "base/BatchSizes",
    ],
    # The library's table says which ops there are.
    "passes/kern": [
        "dialects/kern",
        "kernels/library",
        "passes/analysis",
        "passes/planning",
    ],
    # A launch names a `kern.kernel`, whose accesses say what may be in place;
    # the library's table says which ops can add to their result.
    "passes/exec": [
        "dialects/exec",
        "dialects/plan",
        "dialects/kern",
        "kernels/library",
        "passes/analysis",
        "passes/planning",
        "base/AxisKind",
        "base/BatchSizes",
    ],
    "frontends": ["dialects", "base", "runtime/checkpoint", "runtime/megatron"],
    "compiler": [
        "frontends",
        "passes",
        "dialects",
        "runtime/program",
        "base",
        "runtime/cluster",
    ],
    "compiler/targets": [
        "base/AxisKind",
        "base/ResultCache",
        "base/Sha256",
        "passes",
        "dialects",
        "runtime/program",
        "kernels",
    ],
    "compiler/tools": [
        "compiler",
        "frontends",
        "passes",
        "dialects",
        "base",
        "runtime",
        "kernels/cuda/Sources",
    ],
    "test": FOLDERS,
    "examples": ["dialects", "passes"],
}
CONVERSION = re.compile(r"passes/conversion/([A-Z][a-z]+)To([A-Z][a-z]+)/")


def below(path, folder):
    return path == folder or path.startswith((folder + "/", folder + "."))


def rule_of(path):
    """(folder of the rule, folders that it may include)."""
    if conversion := CONVERSION.match(path):
        allowed = ["passes/conversion/Passes", "passes/analysis", "passes/planning"]
        allowed += ["dialects/plan", "base/AxisKind", "base/BatchSizes"]
        for level in map(str.lower, conversion.groups()):
            allowed += [f"dialects/{level}", f"passes/{level}"]
            allowed += ALLOWED[f"dialects/{level}"]
        return conversion.group(0).rstrip("/"), allowed
    rows = [folder for folder in ALLOWED if below(path, folder)]
    folder = max(rows, key=len, default="/".join(path.split("/")[:-1]))
    return folder, ALLOWED.get(folder, [])


def permits(path, included):
    folder, allowed = rule_of(path)
    if below(included, folder):
        return True
    yes = any(below(included, prefix) for prefix in allowed)
    no = any(below(included, p[1:]) for p in allowed if p.startswith("!"))
    return yes and not no


def includes_of(tree, path):
    for match in INCLUDE.finditer(tree.text(path)):
        line = tree.text(path).count("\n", 0, match.start()) + 1
        yield line + 1 if match.group(0).startswith("\n") else line, match.group(1)


def layers(tree):
    """Folders include only what stands below them."""
    for path in tree.with_suffix(".h", ".cpp", ".td", ".cu", ".cuh"):
        for line, included in includes_of(tree, path):
            ours = included.split("/")[0] in FOLDERS
            if ours and not permits(str(path), included):
                rule = rule_of(str(path))[0]
                yield f"{path}:{line}: {rule} may not include {included}"


def folders_of(tree):
    """{folder: {included folder: one include that says so}}, tests apart."""
    graph = {}
    for path in tree.with_suffix(".h", ".cpp", ".td", ".cu", ".cuh"):
        if path.parts[0] in ("test", "examples"):
            continue
        folder = str(path.parent)
        for line, included in includes_of(tree, path):
            other = included.rpartition("/")[0]
            if other != folder and (tree.root / included).is_file():
                where = f"{path}:{line}: includes {included}"
                graph.setdefault(folder, {}).setdefault(other, where)
    return graph


def path_back(graph, start, end):
    """The folders of a shortest way from `start` to `end`; none if there is none."""
    ways, pending = {start: [start]}, [start]
    for folder in pending:
        for other in sorted(graph.get(folder, {})):
            if other not in ways:
                ways[other] = ways[folder] + [other]
                pending.append(other)
    return ways.get(end, [])


def no_cycles(tree):
    """No two folders include each other, directly or by way of others."""
    graph = folders_of(tree)
    for folder in sorted(graph):
        for other, where in sorted(graph[folder].items()):
            if way := path_back(graph, other, folder):
                yield f"{where}, but {' includes '.join(way)}"


def runtime_free_of_mlir(tree):
    """The base, the runtime, the kernels and the planners know no MLIR."""
    free = ("base/", "runtime/", "kernels/", "passes/planning/")
    for path in tree.with_suffix(".h", ".cpp", ".cu"):
        for line, included in includes_of(tree, path):
            foreign = included.startswith(("mlir/", "llvm/", "clang/"))
            if foreign and str(path).startswith(free):
                yield f"{path}:{line}: includes {included}"


def guards(tree):
    """Every header has the include guard of its path."""
    for path in tree.with_suffix(".h"):
        stem = re.sub(r"[/.-]", "_", str(path)).upper()
        if f"#ifndef HOCKET_{stem}\n#define HOCKET_{stem}\n" not in tree.text(path):
            yield f"{path}: expected the include guard HOCKET_{stem}"


def no_duplicates(tree):
    """No file includes another twice."""
    for path in tree.with_suffix(".h", ".cpp", ".cu", ".cuh"):
        seen = set()
        for line, included in includes_of(tree, path):
            if included in seen and not included.endswith(".inc"):
                yield f"{path}:{line}: {included} is included already"
            seen.add(included)


# What declares a name of the standard library. Names that every other header
# brings along, such as size_t, are left out.
STANDARD = {
    "array": "array",
    "atomic": "atomic",
    "chrono": "chrono",
    "deque": "deque",
    "filesystem": "filesystem",
    "function": "functional",
    "map": "map",
    "mutex": "mutex",
    "optional": "optional",
    "pair": "utility",
    "set": "set",
    "shared_ptr": "memory",
    "span": "span",
    "string": "string",
    "string_view": "string_view",
    "thread": "thread",
    "tuple": "tuple",
    "unique_ptr": "memory",
    "unordered_map": "unordered_map",
    "variant": "variant",
    "vector": "vector",
}
STANDARD_NAME = re.compile(rf"\bstd::({'|'.join(STANDARD)})\b")


def reached(tree, path):
    """Everything that a file includes, by way of files of ours."""
    seen, pending = set(), [str(path)]
    while pending:
        for _, included in includes_of(tree, pending.pop()):
            if included not in seen:
                seen.add(included)
                if (tree.root / included).is_file():
                    pending.append(included)
    return seen


def standard_headers(tree):
    """What a file names of the standard library, it or a file of ours includes.

    Precompiled headers and unity builds hide what is missing from the compiler.
    """
    for path in tree.with_suffix(".h", ".cpp"):
        code = re.sub(r"//.*", "", tree.text(path))
        headers, missing = reached(tree, path), {}
        for match in STANDARD_NAME.finditer(code):
            if STANDARD[match.group(1)] not in headers:
                missing.setdefault(match.group(1), match.start())
        for name, start in missing.items():
            line = code.count("\n", 0, start) + 1
            yield f"{path}:{line}: std::{name} without #include <{STANDARD[name]}>"
