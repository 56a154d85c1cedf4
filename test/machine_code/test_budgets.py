#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Every kind of kernel of the examples and of a table of plans, for every kind of
GPU: NVRTC takes it, no number is without a register, no MMA waits for another,
and it takes no more than the budget that is written beside it. docs/codegen.md says
how to read and set one."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder)
                for folder in ("", "tools")]  # fmt: skip

from machine_code import budgets, kernels, nvrtc, plans  # noqa: E402

COST = 110  # seconds
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
KERNELS_OF_A_SOURCE = 40
MOST_LINES = 60


class BudgetsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not nvrtc.is_there():
            raise unittest.SkipTest("there is no NVRTC on this machine")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        programs = plans.write_all_sources(pathlib.Path(scratch.name))
        cls.kinds, cls.count, cls.different = kernels.kinds_of(programs)
        cls.compiled = list(cls.compile(cls.kinds.values()))
        cls.without_budget = []
        cls.findings = list(cls.compare())

    @classmethod
    def compile(cls, kinds):
        """(kernel, its machine code) for each architecture."""
        jobs = [
            (*source, arch)
            for arch in nvrtc.known(ARCHITECTURES)
            for source in kernels.sources_of(
                [kernel for kernel in kinds if kernel.is_for(arch)], KERNELS_OF_A_SOURCE
            )
        ]
        codes = nvrtc.compile_all([(text, arch) for text, _, arch in jobs])
        for (_, symbols, _), machines in zip(jobs, codes, strict=True):
            for symbol, kernel in symbols.items():
                yield kernel, machines[symbol]

    @classmethod
    def compare(cls):
        library, rows = budgets.library_budgets(), budgets.fused_rows()
        for kernel, machine in cls.compiled:
            if kernel.is_fused:
                budget = budgets.fused_budget(kernel, rows)
                figures = budgets.fused_figures(machine)
            else:
                try:
                    budget = budgets.budget_of(kernel, library)
                except budgets.Wrong as error:
                    cls.without_budget.append(error)
                    continue
                figures = budgets.library_figures(kernel, machine, budget)
            yield from budgets.compare(kernel.name, machine.arch, figures, budget)

    def expect_none(self, lines, what):
        lines = list(dict.fromkeys(lines))
        shown = "\n".join(map(str, lines[:MOST_LINES]))
        self.assertFalse(lines, f"{len(lines)} {what}:\n{shown}")

    def test_the_table_is_whole(self):
        self.assertEqual(len(plans.EXAMPLES), 15)
        self.assertEqual(len(plans.PLANS), 41)
        self.assertGreater(self.count, 1000)
        self.assertGreater(len(self.kinds), 200)
        for function in ("attentionForward", "cachedScan", "cachedSums",
                         "hopperAttentionForward", "hopperAttentionJointGradient",
                         "rope", "router"):  # fmt: skip
            self.assertIn(function, {kernel.function for kernel, _ in self.compiled})

    def test_nothing_waits_that_need_not(self):
        self.expect_none(
            (f"{kernel.name}, {machine.arch}: {line}"
             for kernel, machine in self.compiled for line in machine.complaints),
            "notes of the assembler, which could not do as it was meant",
        )  # fmt: skip

    def test_every_kernel_has_a_budget(self):
        self.expect_none(map(str, self.without_budget), "kernels lack one")

    def test_budgets_are_kept(self):
        wrong = [finding for finding in self.findings if finding.is_wrong]
        self.expect_none(
            (f"{f} ({f.source.where})" for f in wrong), "figures beyond their budget"
        )

    def exceptions(self):
        """Lines about what is over budget today, the worst of each kernel, and of
        fused kernels the worst of all."""
        groups = {}
        for finding in self.findings:
            if finding.is_exception:
                group = finding.kernel if finding.source.is_own else "fused kernels"
                groups.setdefault((group, finding.what), []).append(finding)
        for (group, _), found in sorted(groups.items()):
            worst = max(found, key=lambda f: f.figure / max(f.budget, 1))
            kinds = len({f.kernel for f in found})
            yield f"{kinds} {group}, of them {worst}" if kinds > 1 else str(worst)

    def test_exceptions_are_needed(self):
        """Those of kernels/cuda: a kernel that has become better loses its own."""
        print(f"{self.count} kernels, {self.different} that differ, "
              f"{len(self.kinds)} kinds; over budget, with a reason:")  # fmt: skip
        print("\n".join(f"  {line}" for line in self.exceptions()))
        needed, written = set(), set()
        for finding in self.findings:
            if finding.over is not None and finding.source.is_own:
                source = finding.source
                place = (source.where, " ".join(sorted(source.facts)), finding.what)
                written.add(place)
                needed |= {place} if finding.figure > finding.budget else set()
        self.expect_none(
            (f"{where} ({facts}): {what}" for where, facts, what in written - needed),
            "figures are within their budgets: take them out of 'Over'",
        )  # fmt: skip


HEADER = """
/// Twice as much.
///
/// Budget: 16 registers; an iteration of 16 bytes: 4 instructions an element, 1
/// load, 2 stores.
/// Over: 9.5 instructions, 8 loads: addresses are tested. Every time.
/// Budget of float: 20 registers; a thread of 4 elements: 3 instructions.
template <class T>
HOCKET_DEVICE void
twice(const T *x, T *y) {
"""


class BudgetTextTest(unittest.TestCase):
    def kernel(self, name, type_):
        text = f"void $(const {type_} *x) {{\n  {name}<{type_}>(x, y);\n}}"
        return kernels.Kernel(f"hocket_{name}_1", text, kernels.LIBRARY, "", 256)

    def judge(self, type_, **figures):
        kernel = self.kernel("twice", type_)
        budget = budgets.budget_of(kernel, budgets.budgets_in(HEADER, "Twice.cuh"))
        self.assertEqual(budget.elements_of(kernel), {"bf16": 8, "float": 4}[type_])
        return list(budgets.compare(kernel.name, "sm_80", figures, budget))

    def test_within_over_and_beyond(self):
        good, over, wrong, none = self.judge(
            "bf16", registers=16, instructions=9.5, loads=9, shared=1
        )
        self.assertFalse(good.is_wrong or good.is_exception)
        self.assertTrue(over.is_exception)
        self.assertIn("over: 9.5 (was to be 4): addresses are tested", str(over))
        self.assertTrue(wrong.is_wrong)
        self.assertTrue(none.is_wrong, "what is not named is none")

    def test_the_budget_with_most_facts(self):
        registers, instructions = self.judge("float", registers=20, instructions=3.1)
        self.assertFalse(registers.is_wrong)
        self.assertTrue(instructions.is_wrong)
        self.assertIn("3.1 instructions, the budget is 3", str(instructions))

    def test_what_is_refused(self):
        with self.assertRaisesRegex(budgets.Wrong, "thrice<bf16> has no budget: write"):
            budgets.budget_of(self.kernel("thrice", "bf16"), {})
        with self.assertRaisesRegex(budgets.Wrong, "says 'an iteration:'"):
            budgets.budgets_in(HEADER.replace("an iteration of", "iterations of"), "Twice.cuh")
        with self.assertRaisesRegex(budgets.Wrong, "before any budget"):
            budgets.budgets_in(HEADER.replace("Budget", "Budgets"), "Twice.cuh")

    def test_content_of_a_fused_kernel(self):
        """What is beside the 16-byte accesses of a vector of eight is counted apart."""
        content = budgets.content_of("""
f(const bf16 *in0, const float *in1, const float *in2, bf16 *out0, const Scalars<4> s) {
  Pack<bf16, 8> held0[3];
  for (int s = 0; s < 3; ++s) {
    const auto vector0 = load<8>(in0 + column);
    const auto vector1 = load<8>(in1 + column);
    const float a2 = *(in2 + row);
    Pack<bf16, 8> result0;
    for (int i = 0; i < 8; ++i) {
      const float divf3 = a0 / a1;
      result0.at[i] = fromFloat<bf16>(divf3);
    }
    store(out0 + column, result0);
  }
}""")
        self.assertEqual((content["loads"], content["stores"]), (3 * (1 + 2 + 1), 3))
        self.assertEqual(content["narrow loads"], 3 * 16)
        self.assertEqual(content["narrow stores"], 3 * 8)
        self.assertEqual((content["division"], content["held"]), (24, 12))

    def test_content_of_rows_that_are_summed(self):
        """Both loops, 48 sums of a thread, and parts of two 16-byte accesses a vector,
        of which eight are added at a time, in the last loop twice."""
        content = budgets.content_of("""
f(const bf16 *in0, bf16 *out0, float *out1, const Scalars<4> s) {
  static __device__ Pack<float, 8> partials[1][443][96];
  float sums1[3][8] = {};
  if (areAligned<8>(in0, out0)) {
    for (int s = 0; s < 3; ++s) {
      const auto vector0 = loadAligned<8>(in0 + column);
      Pack<bf16, 8> result0;
      for (int i = 0; i < 8; ++i) {
        sums1[s][i] += a0;
      }
      storeWhole(out0 + column, result0);
    }
  }
  else {
    const auto vector0 = loadSingly<8>(in0 + column);
  }
  joinRows<32, 4>(sums1, joined);
  storeSums<32>(sums1, partials[0][part]);
  sumParts<128>(partials[0] + group * 22, members, grouped[0][group]);
  for (Integer vector = threadIdx.x; vector * 8 < cols; vector += 128) {
    const auto sums = sumOfParts(grouped[0], 21, vector);
    for (int i = 0; i < 8; ++i) {
      out1[column + i] = fromFloat<float>(toFloat(before.at[i]) + sums.at[i]);
    }
  }
}""")
        self.assertEqual(content["held"], 24)
        self.assertEqual(content["loads"], 3 + 8 + 3 * 8 * 2)
        self.assertEqual(content["stores"], 3 + 3 * 2 + 2 + 2 * 8)
        self.assertEqual(content["narrow loads"] + content["narrow stores"], 0)
        operations = 24 + 3 * 3 * 24 + 2 * 8 * 3 * 8 + 8
        self.assertEqual(content["operation"], operations)

    def test_content_of_a_loop_that_is_unrolled_in_part(self):
        content = budgets.content_of("""
f(const bf16 *in0) {
  #pragma unroll 4
  for (Integer row = group; row < rows; row += 64) {
    const auto vector0 = loadAligned<8>(in0 + row * cols + column);
  }
}""")
        self.assertEqual((content["loads"], content["narrow loads"]), (5, 0))

    def test_content_of_sums_in_parts(self):
        """A group of 32 adds every 32nd part, four of them at a time; that of a round
        which not all groups have stands by itself."""
        for parts, times in ((128, 4), (32, 1), (20, 1), (85, 3), (1000, 5)):
            content = budgets.content_of(f"""
f(const bf16 *in0) {{
  static __device__ Pack<float, 8> partials[1][{parts}][32];
  addParts<32>(partials[0], vector, group, sums0);
}}""")
            self.assertEqual(content["loads"], times * 2)


if __name__ == "__main__":
    unittest.main()
