#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""The rings, turns and named barriers of the kernels for Hopper in a model
checker (Spin, with models/*.pml): no deadlock, no tile that is overwritten or
read at the wrong time, for every number of tiles. What models assume is read out
of the kernels, their steps are compared, and each model is shown to find faults.
"""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import kernel_steps
from kernel_steps import Steps, source

COST = 40  # seconds

MODELS = Path(__file__).with_name("models")
ATTENTION = {
    "hopperAttentionForward": "attention_forward",
    "hopperAttentionQueryGradient": "attention_query_gradient",
    "hopperAttentionKeyGradient": "attention_key_gradient",
    "hopperAttentionJointGradient": "attention_joint_gradient",
}
GEMM = "grouped_gemm"
# Statements of a kernel that are steps of its model alone.
REWRITES = {
    "attention_forward": [(r"order\.end\(next >= Shape::keys\)", ["endOrdered(!next)"])],
    "attention_key_gradient": [
        (r"statistics\[tile % stages\]\[.*\] = .*", ["storeStatistics(statistics(tile))"]),
        (r"findProbabilities<.*>\(.*, lseOf\)", ["loadStatistics(statistics(tile))"]),
        (r"gradientOfScores<.*>\(.*, deltaOf\)", ["loadStatistics(statistics(tile))"]),
        (r"(?:Kept )?kept = find\(tile\)", ["find(tile)"]),
        (r"Kept kept = find\(0\)", ["find(0)"]),
        (r"differentiate\(tile, kept\)", ["differentiate(tile)"]),
        (r"differentiate\(0, kept\)", ["differentiate(0)"]),
    ],
    "attention_joint_gradient": [
        (r"statistics\[tile % stages\]\[0\].* = .*", ["storeStatistics(statistics(tile))"]),
        (r"statistics\[tile % stages\]\[1\].* = .*", []),
        (r"findProbabilities<.*>\(.*, lseOf\)", ["loadStatistics(statistics(tile))"]),
        (r"gradientOfScores<.*>\(.*, deltaOf\)", ["loadStatistics(statistics(tile))"]),
        (r"find\(\w+, [01]\)", ["find(tile)"]),
        (r"differentiate\(\w+, [01]\)", ["differentiate(tile)"]),
    ],
    GEMM: [
        (r"Gemm gemm\(ring, shared\)", ["WarpgroupGemm()"]),
        (r"gemm\.begin\(\)", []),
        (r"gemm\.template add<Stores::pieces>\(.*", ["add()"]),
        (r"auto a = left\(step\)", ["multiplyTile(left(step))"]),
        (r"auto b = right\(step\)", ["multiplyTile(right(step))"]),
        (r"clearRows\(left\(step\), row\)", ["clearTile(left(step))"]),
        (r"clearRows\(right\(step\), row\)", ["clearTile(right(step))"]),
    ],
}  # fmt: skip
STEPS = re.compile(
    r"// *((?:if|for|while)\b.*|else|return)\n|\b("
    r"fenceBarrierInit|__syncthreads|fenceProxyAsync|beginToFetch|beginToMultiply|namedBarrierSync|namedBarrierArrive"
    r"|fetchRows|fetchStep|beginDots|beginSums|beginProducts|storePacked|waitWgmma|clearFrom|multiplyStep|multiplyNext|fetch|add"
    r"|beginRing|producerAcquire|consumerWait|consumerRelease|beginBarrier|expect|wait|arrive"
    r"|beginOrdered|endOrdered|fetchKeys|beginTile|clearTile|multiplyTile|WarpgroupGemm"
    r"|storeStatistics|loadStatistics|find|differentiate)\("
)
# How many processes the four warps of a group are, where not one: as many as can
# be looked at within seconds.
PROCESSES = {("hopperAttentionForward", 2, 2): 2, ("hopperAttentionQueryGradient", 2, None): 2}
DEPTH = 3000000  # of a search; memory for it is taken at once
MAY_BE_LATE = {
    "expect", "arrive", "consumerRelease", "namedBarrierArrive", "endOrdered", "fetchRows", "fetchStep", "seen",
    "at", "behindPair", "barrier", "left", "right", "keys", "values", "queries", "gradients",
}  # fmt: skip
# (kernel, before, after, what is said): in a model, or in what a kernel says.
BLOCKED, FAILED = "invalid end state", "assertion violated"
FAULTS = [
    # An arrival is missing, or one too few or too many is counted.
    ("hopperAttentionForward", "consumerRelease(keyRing, tile)", "skip", BLOCKED),
    ("hopperAttentionForward", "1, 4 * groups", "1, 4 * groups - 1", FAILED),
    ("hopperAttentionQueryGradient", "1, own / 16", "1, own / 16 + 1", BLOCKED),
    ("hopperAttentionKeyGradient", "arrive(barrier(ring, tile))", "skip", BLOCKED),
    ("hopperAttentionKeyGradient", "ring, 32", "ring, 31", FAILED),
    # Parities are those of another phase.
    ("hopperAttentionForward", "(i / Stages - 1)", "(i / Stages)", FAILED + "|" + BLOCKED),
    ("hopperAttentionForward", "PHASE_OF_TILE(i, Stages) (i / Stages)",
     "PHASE_OF_TILE(i, Stages) (i / Stages + 1)", FAILED),
    # The ring is deeper than its memory, or tiles share it.
    ("hopperAttentionQueryGradient", "(at(i) % keyStages)", "(at(i) % (keyStages - 1))", FAILED),
    ("hopperAttentionForward", "stages + at(i) % stages", "at(i) % stages", FAILED),
    ("WarpgroupGemm", "% kGroupStages) + 1", "% kGroupStages) + 0", FAILED),
    # Stages are released while MMAs read them.
    ("hopperAttentionQueryGradient", "consumerRelease(keyRing, tile - 1)", "consumerRelease(keyRing, tile)",
     FAILED + "|" + BLOCKED),
    ("hopperAttentionForward", "waitWgmma(1)", "waitWgmma(2)", FAILED),
    # The end is missing: of a range, of a tile, of turns.
    ("WarpgroupGemm", "    consumerRelease(ring, step - 1);\n    seen", "    seen", BLOCKED),
    ("hopperAttentionQueryGradient", "beginSums(keys(tile - 1));\n       waitWgmma",
     "waitWgmma", FAILED),
    ("hopperAttentionForward", "|| !isLast)", "|| true)", FAILED),
    # Bytes that never come.
    ("hopperAttentionKeyGradient", "2 * Tile_bytes", "3 * Tile_bytes", BLOCKED),
    # Turns are taken in another order, or by too few threads.
    ("hopperAttentionForward, groups 3", "1 + (group + 1) % GROUPS", "1 + (group + 2) % GROUPS",
     FAILED + "|" + BLOCKED),
    ("hopperAttentionForward, groups 2, stages 2", "1 + group, 256", "1 + group, 128", FAILED),
    # Rows are read while others clear them.
    ("WarpgroupGemm, one group", "namedBarrierSync(1 + warpgroup(), 128)", "skip", FAILED),
    # Scores of a pair are read before all are there, or stored while they are read;
    # keys are overwritten that are in use.
    ("hopperAttentionJointGradient", "namedBarrierSync(1 + warpgroup(), 256);\n        atomic {\n"
     "          beginProducts", "atomic {\n          beginProducts", FAILED),
    ("hopperAttentionJointGradient", "namedBarrierSync(3 + warpgroup(), 256);\n        atomic",
     "atomic", FAILED),
    ("hopperAttentionJointGradient", "namedBarrierArrive(3 + other, 256)\n        }\n", "skip\n        }\n",
     BLOCKED),
    ("hopperAttentionJointGradient", "keyRing, 1, own / 16", "keyRing, 1, own / 32",
     FAILED + "|" + BLOCKED),
    # Registers that nobody gives.
    ("WarpRoles, groups 2", "GIVEN 24", "GIVEN 40", BLOCKED),
]  # fmt: skip
ARRIVALS = re.compile(r"\b(?:expect|arrive|consumerRelease|namedBarrierArrive|endOrdered|beginOrdered)\(")


def model_steps(name):
    """The steps of a model: {name of an inline, or "": steps}."""
    text = (MODELS / f"{name}.pml").read_text()
    found = {}
    for match in reversed(list(re.finditer(r"^inline (\w+)\(.*\{\n", text, re.M))):
        end = kernel_steps.closing(text, match.end() - 2)
        found[match[1]] = steps_of(text[match.end() : end])
        text = text[: match.start()] + text[end + 1 :]
    found[""] = steps_of(re.sub(r"^#define .*", "", text, flags=re.M))
    return {name: steps for name, steps in found.items() if steps}


def steps_of(text):
    found = []
    for match in STEPS.finditer(text):
        if match[1]:
            found.append(match[1])
        else:
            end = kernel_steps.closing(text, match.end() - 1)
            arguments = re.sub(r"(\w)_\b", r"\1", text[match.end() : end])
            found.append(f"{match[2]}({kernel_steps.collapse(arguments)})")
    return found


def late_steps(text):
    """Steps in atomic blocks behind an arrival that are none, and no copies."""
    found = []
    for match in re.finditer(r"atomic \{", text):
        end = kernel_steps.closing(text, match.end() - 1)
        for block in text[match.end() : end].split("beginOrdered();"):
            if arrival := ARRIVALS.search(block):
                calls = re.findall(r"\b(\w+)\(", block[arrival.start() :])
                found += [call for call in calls if call not in MAY_BE_LATE]
    return found


class Checked:
    """A model with the parameters of a kernel, for a number of processes a
    warpgroup; Spin makes a program of it, which looks at every state."""

    def __init__(self, name, parameters):
        self.name, self.parameters = name, parameters

    def fault(self, change=None):
        """The fault that the search finds, if any. `change`: (before, after), in
        the model or in what was read out of the kernel."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            defines = "".join(f"#define {n} {of}\n" for n, of in self.parameters.items())
            files = {"parameters.pml": defines}
            files |= {path.name: path.read_text() for path in MODELS.glob("*.pml")}
            if change:
                where = [file for file, text in files.items() if change[0] in text
                         and file in ("parameters.pml", f"{self.name}.pml")]  # fmt: skip
                if len(where) != 1:
                    raise ValueError(f"{self.name}: not in one file: {change[0]}")
                files[where[0]] = files[where[0]].replace(*change, 1)
            for file, text in files.items():
                (folder / file).write_text(text)
            command(folder, "clang-19", "-E", "-x", "c", "-include", "parameters.pml",
                    f"{self.name}.pml", "-o", "model.pml")  # fmt: skip
            said = command(folder, "spin", "-Pcat", "-a", "model.pml")
            if "rror" in said:
                raise ValueError(said)
            command(folder, "clang-19", "-O0", "-w", "-DSAFETY", "-DMEMLIM=1500",
                    "-o", "pan", "pan.c")  # fmt: skip
            said = command(folder, "./pan", f"-m{DEPTH}", "-w20")
        if "errors: 0" in said and "not completed" not in said and "too small" not in said:
            return None
        return re.search(r"pan:1: .*|$", said)[0] or said


def command(folder, *words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{' '.join(words)}: exit status {done.returncode}\n"
                         f"{done.stdout}{done.stderr}")  # fmt: skip
    return done.stdout


def attention_text():
    return source("HopperAttention.cuh") + source("HopperJointAttention.cuh")


def bytes_of(rows, dim):
    return f"({rows} * {dim} * 2)"


def attention_models(folder):
    """Of every shape that attention has kernels for; those that differ in bytes
    alone are one."""
    text = attention_text()
    shared, found = kernel_steps.constants(text, ATTENTION, folder)
    shared |= kernel_steps.protocol_parameters(source("TensorCopies.cuh"))
    models = {}
    for function, own in found:
        inside = kernel_steps.body(text, function)
        (groups,) = kernel_steps.matched(r"using Roles = WarpRoles<([^;]*)>;", inside)
        numbers = {name: int(number) for name, number in own.items()}
        groups = eval(groups.replace("/", "//"), {}, numbers)
        each = PROCESSES.get((function, groups, numbers.get("stages")), 1)
        parameters = shared | own | kernel_steps.kernel_parameters(text, function)
        parameters |= {
            "Tile_bytes": bytes_of("side", "dim"), "Own_bytes": bytes_of("own", "dim"),
            "GROUPS": groups, "WARPS": each * groups,
            # Groups that take turns are not alike.
            "ALIKE": each if "OrderedSequence<" in inside else each * groups,
        }  # fmt: skip
        stages = [f"{name} {n}" for name, n in own.items() if re.search("tages|beside", name)]
        title = f"{function}, groups {groups}, {', '.join(stages)}"
        models.setdefault(title, Checked(ATTENTION[function], parameters))
        if each > 1:  # There is time for more states.
            parameters = parameters | {
                "COPIES_END_AT_ANY_TIME": 1, "WARPS": groups,
                "ALIKE": parameters["ALIKE"] // each,
            }  # fmt: skip
            models[f"{title}, copies end at any time"] = Checked(ATTENTION[function], parameters)
    return shared, models


def gemm_models(shared):
    """All groups, a process each; and one alone, with a process for two warps,
    which meet in it."""
    groups = int(shared["kGemmWarpgroups"])
    alone = shared | {"kGemmWarpgroups": 1}
    return {
        "WarpgroupGemm": gemm_model(shared, groups, groups),
        "WarpgroupGemm, one group": gemm_model(alone, 1, 2),
    }


def gemm_model(shared, groups, processes):
    text = source("HopperGemm.cuh")
    left, right = (bytes_of(side, "kGroupDepth") for side in ("kGemmSide", "kGroupColumns"))
    return Checked(GEMM, shared | kernel_steps.gemm_parameters(text) | {
        "GROUPS": groups, "WARPS": processes, "ALIKE": processes,
        "BYTES_OF_TILE(p)": f"((p) % 2 == 0 -> {left} : {right})",
    })  # fmt: skip


def all_models():
    with tempfile.TemporaryDirectory() as folder:
        shared, models = attention_models(Path(folder))
    copies = source("TensorCopies.cuh")
    chosen = {int(model.parameters["GROUPS"]) for model in models.values()}
    models |= gemm_models(shared)
    for groups in sorted(chosen | {int(shared["kGemmWarpgroups"])}):
        parameters = kernel_steps.register_parameters(copies, groups)
        models[f"WarpRoles, groups {groups}"] = Checked("registers", parameters)
    return models


class StepsTest(unittest.TestCase):
    """Models have the steps of the kernels, and no kernel waits without one."""

    maxDiff = None

    def test_attention(self):
        text = attention_text()
        for function, name in ATTENTION.items():
            kernel = Steps(text, function, REWRITES.get(name, ()))
            self.assertEqual({"": kernel.steps} | kernel.lambdas, model_steps(name), name)

    def test_gemms(self):
        text, model = source("HopperGemm.cuh"), model_steps(GEMM)
        weights, linear = (
            Steps(text, function, REWRITES[GEMM]).steps
            for function in ("hopperGroupedWeightGradient", "hopperGroupedLinear")
        )
        self.assertEqual(weights, model.pop(""))
        # A rectangle of it has one range.
        loop = "for (Integer j = 0; j < shape.stretches(); ++j)"
        self.assertEqual(linear, [step for step in weights if step != loop])
        for function, steps in model.items():
            self.assertEqual(Steps(text, function, REWRITES[GEMM]).steps, steps, function)

    def test_a_changed_kernel_is_seen(self):
        text = attention_text()
        model = model_steps("attention_query_gradient")
        for change in ("valueRing.consumerRelease(tile);", "keyRing.producerAcquire(tile);"):
            self.assertIn(change, text)
            kernel = Steps(text.replace(change, ""), "hopperAttentionQueryGradient")
            self.assertNotEqual(kernel.steps, model[""], change)
        with self.assertRaisesRegex(ValueError, "no step of a model is known"):
            Steps(text.replace("keyRing.consumerRelease(0);", "keyRing.consumerRelease(0), 0;"),
                  "hopperAttentionForward")  # fmt: skip

    def test_no_other_kernel_waits(self):
        joint = "hopperAttentionJointGradient"
        modelled = {"HopperAttention.cuh": [*(set(ATTENTION) - {joint}), "fetchRows"],
                    "HopperJointAttention.cuh": [joint],
                    "HopperGemm.cuh": ["WarpgroupGemm", "fetch", "fetchStep", "add",
                                           "clearFrom", "multiplyNext", "hopperGroupedLinear",
                                           "hopperGroupedWeightGradient"]}  # fmt: skip
        waits = re.compile(
            r"Mbarrier|TileRing|\bOrderedSequence\b|\b(?:namedBarrierSync|namedBarrierArrive|setmaxnreg(?:Dec|Inc))[(<]"
            r"|mbarrier\.|\bbar\.|setmaxnreg|atomicCAS|atomicExch|ld\.acquire|__nanosleep"
        )
        for path in sorted(kernel_steps.KERNELS.glob("*.cuh")):
            if path.name == "TensorCopies.cuh":
                continue
            text = source(path.name)
            for function in modelled.get(path.name, []):
                first, last = kernel_steps.span(text, function)
                head = text.rindex("HOCKET_", 0, first)
                text = text[:head] + text[last:]
            text = text.replace("using Ring = TileRing<kGroupStages>;", "")
            self.assertIsNone(waits.search(text), f"{path.name} has no model for this")

    def test_behind_an_arrival_nothing_waits(self):
        for name in [*ATTENTION.values(), GEMM]:
            text = (MODELS / f"{name}.pml").read_text()
            self.assertEqual(late_steps(text), [], name)
            early = text.replace("consumerRelease(", "waitWgmma(0); consumerRelease(")
            self.assertEqual(late_steps(early), [], name)
            late = re.sub(r"(consumerRelease\(.*\))", r"\1; waitWgmma(0)", text)
            self.assertEqual(set(late_steps(late)), {"waitWgmma"}, name)


class ModelsTest(unittest.TestCase):
    """What Spin says of them."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which("spin"):
            raise ValueError("spin is missing: `make packages` installs it")
        cls.models = all_models()

    def test_every_shape_in_use_has_no_fault(self):
        self.assertGreater(len(self.models), 9)
        for title, model in self.models.items():
            with self.subTest(title):
                self.assertIsNone(model.fault())

    def test_faults_are_found(self):
        for title, before, after, expected in FAULTS:
            with self.subTest(f"{title}: {before} -> {after}"):
                model = next(m for t, m in self.models.items() if t.startswith(title))
                self.assertRegex(str(model.fault((before, after))), expected)


if __name__ == "__main__":
    unittest.main()
