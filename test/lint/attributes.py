# Part of Hocket, under the Apache License v2.0.
"""The attributes that no op declares.

What one pass tells the next belongs in an op's declared attributes, where its
verifier sees it. These names are left, each with why it is still discardable.
Who adds a name says here why no op can declare it; who removes the last use of
one removes its row.
"""

import re

SOURCES = ("compiler", "dialects", "frontends", "passes")
PREFIXED = re.compile(
    r'"((?:xf|dist|pipe|kern|exec|step|hocket)\.[a-z_]+|plan\.step)"'
)
BARE = re.compile(r'\bset(?:Discardable)?Attr\(\s*"([a-z_]+)"')

LEFT = {
    # Of arguments and results of functions, which are upstream's ops.
    "dist.sharding": "a function's argument has no op of ours to declare it",
    "xf.host": "as dist.sharding: which input of the host an argument is",
    "xf.stream": "as dist.sharding: that an argument is the residual stream",
    "dist.stream": "as dist.sharding: where such an argument is",
    "xf.backward": "of a function, until recompute: the other half of a layer",
    # Of ops of xf, which must not know of shardings. Gone after partitioning.
    "dist.placement": "how any op is split, and why (#dist.placement, D29)",
    # Of ops of xf, which must not know of stages. Gone after the weights are split.
    "pipe.early": "a weight gradient that stays in B (pipe-split-weight-gradient)",
    # Of the module, which is upstream's op.
    "plan.step": "the plan (#plan.step), which every level has",
    "hocket.flops_per_token": "a count of all that the module computes",
    "hocket.level": "which level a .mlir file holds, for who compiles it further",
    # On any op at all.
    "recomputed": "marks a copy of any op for whoever reads the IR",
}


def sources(tree):
    return (
        path
        for path in tree.with_suffix(".cpp", ".h")
        if path.parts[0] in SOURCES
    )


def discardable_have_reasons(tree):
    """Every attribute that no op declares is listed with its reason."""
    used = set()
    for path in sources(tree):
        text = tree.text(path)
        for match in (*PREFIXED.finditer(text), *BARE.finditer(text)):
            name = match.group(1)
            used.add(name)
            if name not in LEFT:
                line = text.count("\n", 0, match.start()) + 1
                yield (
                    f"{path}:{line}: '{name}' is an attribute that no op declares: "
                    "declare it, or say why not in test/lint/attributes.py"
                )
    for name in sorted(LEFT.keys() - used):
        yield f"test/lint/attributes.py: nothing uses '{name}' any more: remove it"
