# Part of Hocket, under the Apache License v2.0.
"""Words that the tree had beside the field's (docs/glossary.md)."""

import re

# What stood here once, in names or in prose, and what stands in its place. Whole
# words, in the case that is written.
RETIRED = {
    "MatrixProducts": "CublasLtGemms",
    "GroupProducts": "Wgmma",
    "HopperProducts": "HopperGemm",
    "grouped_products": "grouped_gemm",
    "fit-f8-products": "fit-f8-gemms",
    "groupMultiply": "wgmma",
    "EightBitFactors": "EightBitOperands",
    "matrix product": "GEMM",
    "matrix products": "GEMMs",
    "TensorPiece": "TensorShard",
    "slice_piece": "slice_shard",
    "gather_pieces": "gather_shards",
    "scatter_pieces": "scatter_shards",
    "awaitPlace": "producerAcquire",
    "awaitTile": "consumerWait",
    "giveBack": "consumerRelease",
    "takeTurn": "takeOrdered",
    "SharedBarrier": "Mbarrier",
    "PanelTile": "SwizzledTile",
    "panelBytes": "blockBytes",
    "warpGroup": "warpgroup",
    "WarpGroup": "Warpgroup",
    "warp group": "warpgroup",
    "warp groups": "warpgroups",
    "giveRegisters": "setmaxnregDec",
    "takeRegisters": "setmaxnregInc",
    "EntryRecording": "CapturedEntry",
    "beginRecording": "beginCapture",
    "isRecording": "isCapturing",
    "JsonPieces": "JsonMembers",
}
WORD = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, RETIRED)) + r")(?![\w-])")
# The glossary explains a word by another, and this file lists them.
EXEMPT = {"docs/glossary.md", "test/lint/words.py"}


def glossary_is_kept(tree):
    """Names and prose use the glossary's words."""
    endings = (".cpp", ".h", ".cuh", ".td", ".md", ".py", ".mlir", ".test", ".proto")
    for path in tree.with_suffix(*endings):
        if str(path) in EXEMPT:
            continue
        text = tree.text(path)
        for match in WORD.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            word = match.group()
            yield f"{path}:{line}: '{word}' is called '{RETIRED[word]}' here"
