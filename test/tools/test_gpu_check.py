#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""hocket-gpu-check: a bundle of tiny programs, prepared, taken elsewhere, and run
on an emulated GPU, on none, and with something wrong."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from programs import BUILD, EMULATED, ROOT

SCRIPT = ROOT / "test/gpu_check/hocket-gpu-check"
DEVICE, LOSSES, REPEATS = (
    "The contract of devices",
    "Losses against the CPU target's",
    "Two runs, the same bits",
)
ATTENTION, EXPERTS, OTHERS = (
    f"{what} against {whose} references"
    for what, whose in (("Attention", "its"), ("Experts", "their"), ("Other kernels", "their"))
)
RIGHT = (DEVICE, ATTENTION, EXPERTS, OTHERS, LOSSES, REPEATS, "The same in fp8")


def run(script, *options, **environment):
    return subprocess.run(
        [sys.executable, script, *map(str, options)], capture_output=True, text=True,
        env=os.environ | environment, check=False,
    )  # fmt: skip


class GpuCheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        made = cls.folder / "made"
        done = run(SCRIPT, "--prepare", made, "--tiny", "--arch", "none",
                   "--build", BUILD)  # fmt: skip
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.said = done.stdout
        # Kernels are compiled for emulated GPUs once, in a run of all tests by
        # whichever test wants them first.
        cache = cls.folder / "cache"
        cache.mkdir(mode=0o700)
        cls.emulated = EMULATED | {"HOCKET_CACHE": os.environ.get("HOCKET_CACHE", str(cache))}
        cls.bundle = cls.folder / "elsewhere"
        made.rename(cls.bundle)

    def report(self, bundle, status, *options, **environment):
        """{section: it} of a run, and the report's text."""
        out = self.folder / self.id()
        done = run(bundle / "run", "--out", out, *options, **environment)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        document = json.loads((out / "report.json").read_text())
        sections = {section["name"]: section for section in document["sections"]}
        return sections, (out / "report.md").read_text()

    def test_the_bundle_is_small_and_says_what_it_needs(self):
        self.assertIn("glibc 2.", self.said)
        files = [path for path in self.bundle.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in files), 64 << 20)
        needed = subprocess.run(
            ["ldd", self.bundle / "bin/hocket-runtime"], capture_output=True,
            text=True, check=True,
            env=os.environ | {"LD_LIBRARY_PATH": f"{self.bundle}/lib:{self.bundle}/lib/base"},
        ).stdout  # fmt: skip
        outside = [
            line for line in needed.splitlines()
            if "=>" in line and str(self.bundle) not in line
        ]  # fmt: skip
        for line in outside:
            self.assertRegex(line, r"lib(c|m|dl|rt|pthread)\.so")

    def test_an_emulated_gpu(self):
        sections, text = self.report(
            self.bundle, 0, "--peak", "1", "--python", "/no/python3", **self.emulated
        )
        for name in RIGHT:
            self.assertEqual(sections[name]["status"], "passed", sections[name]["why"])
        self.assertGreater(len(sections[DEVICE]["rows"]), 10)
        self.assertEqual(sections["PyTorch"]["status"], "skipped")
        self.assertIn("Emulated GPU", text)
        figures = {f["what"]: f for s in sections.values() for f in s["figures"]}
        for what in ("MFU, tiny", "MFU, tiny-fp8", "GEMMs, tiny",
                     "GEMMs, tiny-fp8", "tokens/s over those in bf16, tiny-fp8",
                     "copy, tiny", "norms, tiny",
                     "cross-entropy, tiny", "Adam, tiny",
                     "attention_forward causal 32 x 64, tiny",
                     "attention_backward causal 32 x 64, tiny",
                     "MFU, tiny-moe", "grouped_linear, tiny-moe",
                     "grouped_linear_weight_gradient over one dense GEMM of cuBLASLt, tiny-moe"):  # fmt: skip
            self.assertGreater(figures[what]["value"], 0, what)
            self.assertIn(what, text)
        self.assertEqual(figures["gaps between kernels, tiny"]["target"], 0.03)
        for row in sections["Kernels' speed"]["rows"]:
            self.fail(f"not measured: {row}")

    def test_without_a_gpu_everything_is_a_said_skip(self):
        sections, text = self.report(self.bundle, 0, HOCKET_LIBCUDA="/no/libcuda.so")
        for name, section in sections.items():
            expected = "measured" if name == "The machine" else "skipped"
            self.assertEqual(section["status"], expected, name)
            self.assertEqual(section["figures"], [], name)
        self.assertIn("there is no CUDA driver on this machine", text)
        self.assertIn("0 of 0 targets missed", text)

    def copy(self):
        folder = self.folder / f"{self.id()}-bundle"
        shutil.copytree(self.bundle, folder)
        return folder

    def test_losses_beyond_the_band_are_a_failure(self):
        folder = self.copy()
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["parity"]["band"] = 0.0
        path.write_text(json.dumps(manifest))
        sections, text = self.report(folder, 1, "--only", "parity", **self.emulated)
        self.assertEqual(sections[LOSSES]["status"], "failed")
        self.assertEqual(sections[REPEATS]["status"], "skipped")
        self.assertIn("not asked for (--only)", text)

    def test_trouble_costs_a_row(self):
        """An op that hangs, one that faults, one that is wrong, and their
        neighbours."""
        trouble = "hang:logSumExp,fault:normOfSums,wrong:accumulate"
        sections, text = self.report(
            self.bundle, 1, "--only", "kernels", "--limit", "8",
            HOCKET_EMULATED_TROUBLE=trouble, **self.emulated,
        )  # fmt: skip
        rows = {row[0]: row[1:] for row in sections[OTHERS]["rows"]}
        for name, words in (
            ("log_sum_exp", "was ended after 8 s: it hangs"),
            ("global_norm", "illegal address"),
            ("accumulate", ""),
        ):
            self.assertEqual(rows[name][0], "failed", rows[name])
            self.assertIn(words, rows[name][2])
            self.assertIn(f"| {name} | failed |", text)
        for name in ("rope", "cross_entropy_backward"):
            self.assertEqual(rows[name][0], "completed", rows[name])

    def test_what_is_known_is_written_before_the_end(self):
        out = self.folder / self.id()
        command = [sys.executable, self.bundle / "run", "--out", out]
        environment = os.environ | self.emulated | {"HOCKET_EMULATED_TROUBLE": "hang:rope"}
        with subprocess.Popen(
            list(map(str, command)), env=environment, stdout=subprocess.PIPE, text=True
        ) as process:
            for line in process.stdout:
                if line.startswith(EXPERTS):
                    break
            process.kill()
        document = json.loads((out / "report.json").read_text())
        states = {s["name"]: s["status"] for s in document["sections"]}
        self.assertEqual(states[DEVICE], "passed")
        self.assertEqual(states[EXPERTS], "passed")
        self.assertEqual(states.get(OTHERS, "under way"), "under way")
        self.assertIn(ATTENTION, (out / "report.md").read_text())

    def test_the_budget_is_kept(self):
        sections, text = self.report(self.bundle, 0, "--budget", "4", **self.emulated)
        skipped = [s for s in sections.values() if s["status"] == "skipped"]
        self.assertIn("the budget of 4 s is spent", text)
        self.assertGreater(len(skipped), 3)
        self.assertEqual(sections["PyTorch"]["status"], "skipped")

    def test_ops_under_a_sanitizer(self):
        """A stand-in that runs the program, and finds something in one op."""
        tools = self.folder / "tools"
        tools.mkdir()
        tool = tools / "compute-sanitizer"
        tool.write_text(
            '#!/bin/sh\ncase "$2 $*" in memcheck*rope*) echo "Invalid __global__ read";'
            ' exit 86;; esac\nshift 4\nexec "$@"\n'
        )
        tool.chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        sections, _ = self.report(
            self.bundle, 1, "--only", "kernels", "--sanitize", "memcheck,synccheck",
            PATH=path, **self.emulated,
        )  # fmt: skip
        rows = {row[0]: row[1:] for row in sections[OTHERS]["rows"]}
        self.assertEqual(rows["rope (memcheck)"][0], "failed")
        self.assertIn("Invalid __global__ read", rows["rope (memcheck)"][2])
        self.assertEqual(rows["rope"][0], "completed")
        self.assertEqual(rows["rope (synccheck)"][0], "completed")
        self.assertEqual(rows["accumulate (memcheck)"][0], "completed")
        if not shutil.which("compute-sanitizer", path=f"/usr/local/cuda/bin:{os.environ['PATH']}"):
            done = run(self.bundle / "run", "--sanitize", **self.emulated)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("there is no compute-sanitizer", done.stderr)

    def test_libraries_are_looked_for(self):
        packages = self.folder / "packages"
        lib = packages / "nvidia/cu13/lib"
        lib.mkdir(parents=True)
        for name in ("libnvrtc.so.12", "libnvrtc.so.13", "libcublasLt.so.12"):
            (lib / name).write_text("a library")
        code = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from gpu_check import libraries as l\n"
            "l.driver_version = lambda: eval(sys.argv[2])\n"
            "l.folders = lambda python: [sys.argv[3]]\n"
            "print(sorted(l.find('python').items()))"
        )
        for driver, nvrtc in (("(12, 8)", 12), ("(13, 0)", 13), ("None", 13)):
            done = subprocess.run(
                [sys.executable, "-c", code, ROOT / "test", driver, lib],
                capture_output=True, text=True, check=True,
                env={k: v for k, v in os.environ.items() if not k.startswith("HOCKET_")},
            )  # fmt: skip
            expected = [
                ("HOCKET_CUBLASLT", f"{lib}/libcublasLt.so.12"),
                ("HOCKET_NVRTC", f"{lib}/libnvrtc.so.{nvrtc}"),
            ]
            self.assertEqual(done.stdout.strip(), str(expected))

    def test_a_damaged_bundle_is_refused(self):
        folder = self.copy()
        with open(folder / "programs/tiny.hkx", "ab") as file:
            file.write(b"x")
        done = run(folder / "run")
        self.assertEqual(done.returncode, 2)
        self.assertIn("tiny.hkx is not what was prepared", done.stderr)

    def test_what_was_not_prepared_is_refused(self):
        done = run(SCRIPT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("manifest.json is missing", done.stderr)
        done = run(SCRIPT, "--prepare", self.bundle, "--build", BUILD)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not empty", done.stderr)


if __name__ == "__main__":
    unittest.main()
