# Part of Hocket, under the Apache License v2.0.
"""An installed Hocket, moved elsewhere: it runs, and takes passes of others."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import bare_system
from programs import BUILD

SHARE = "share/hocket/examples"
NANO = f"{SHARE}/nano/spec.textproto"
PLUGIN = f"{SHARE}/pass-plugin"
WHY_NOT_BARE = bare_system.why_not()


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, **options
    )
    if done.returncode:
        raise AssertionError(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved here"
        (cls.folder / "first").rename(cls.prefix)

    def test_it_compiles_and_trains(self):
        hocket, model = self.prefix / "bin/hocket", self.folder / "nano.hkx"
        text = self.folder / "text.txt"
        text.write_text("All work and no play. " * 400)
        run(hocket, "data", "prepare", text, "-o", self.folder / "text",
            "--tokenizer", "byte")  # fmt: skip
        run(hocket, "compile", self.prefix / NANO, "-o", model,
            "--set", "model.layers=1", "--set", "training.data.split=100")  # fmt: skip
        out = run(hocket, "train", model, "--data", self.folder / "text",
                  "--steps", 1)  # fmt: skip
        self.assertIn("iteration        1/", out)

    def test_nothing_knows_where_it_was_built(self):
        places = [os.fsencode(path) + b"/" for path in (BUILD, BUILD.parent)]
        told = [
            path.relative_to(self.prefix)
            for path in self.prefix.rglob("*")
            if path.is_file() and any(place in path.read_bytes() for place in places)
        ]
        self.assertEqual(told, [])

    def test_pages_and_completion_are_there(self):
        self.assertTrue((self.prefix / "share/man/man1/hocket-train.1").exists())
        script = self.prefix / "share/bash-completion/completions/hocket"
        self.assertIn("complete -o default -F _hocket hocket", script.read_text())

    @unittest.skipUnless((BUILD / "lib/hocket-comm-mpi.so").exists(), "no MPI")
    def test_the_module_for_mpi_is_found(self):
        out = run(self.prefix / "bin/hocket", "doctor")
        self.assertRegex(out, r"module for MPI +found")

    def test_a_pass_of_others(self):
        built = self.folder / "plugin"
        run("cmake", "-G", "Ninja", "-S", self.prefix / PLUGIN, "-B", built,
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19",
            "-DCMAKE_CXX_FLAGS=-O0")  # fmt: skip
        run("cmake", "--build", built)
        ir = self.folder / "nano.mlir"
        run(self.prefix / "bin/hocket", "compile", self.prefix / NANO,
            "--compile-to=kern", "-o", ir)  # fmt: skip
        out = run(self.prefix / "bin/hocket-opt", ir,
                  f"--load-pass-plugin={built / 'gemm-shapes.so'}",
                  "--pass-pipeline=builtin.module(gemm-shapes)",
                  "-o", self.folder / "after.mlir")  # fmt: skip
        # The head of examples/nano: 512 tokens, 384 features, 384 rows of a
        # vocabulary that is padded.
        self.assertRegex(out, r"\d+ +512 +384 +384 +0\.151")
        run(self.prefix / "bin/hocket", "compile", self.folder / "after.mlir",
            "--compile-from=kern", "-o", self.folder / "after.hkx")  # fmt: skip

    def test_another_version_is_refused(self):
        (self.folder / "other").mkdir()
        (self.folder / "other/CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(other NONE)\n"
            "find_package(Hocket 99 REQUIRED)\n"
        )
        done = subprocess.run(
            ["cmake", "-S", "other", "-B", "none", f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("HocketConfig.cmake, version: ", done.stderr)


@unittest.skipUnless(shutil.which("dpkg-shlibdeps"), "no dpkg-dev")
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        packages = cls.folder / "packages"
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B",
            packages, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none",
            env={**os.environ, "LC_ALL": "C"})  # fmt: skip
        cls.found = {path.name.split("_")[0]: path for path in packages.glob("*.deb")}

    def test_packages_say_what_they_need(self):
        found = self.found
        self.assertLessEqual({"hocket", "hocket-dev"}, found.keys())
        needs = run("dpkg-deb", "-f", found["hocket"], "Depends")
        self.assertRegex(needs, r"libmlir-19 .*libprotobuf32")
        self.assertNotIn("openmpi", needs)
        needs = run("dpkg-deb", "-f", found["hocket-dev"], "Depends")
        self.assertIn("hocket (= ", needs)

    @unittest.skipIf(WHY_NOT_BARE, WHY_NOT_BARE)
    def test_a_bare_system_needs_no_more(self):
        root = self.folder / "root"
        bare_system.make(root, self.found["hocket"])
        (root / "tmp/text.txt").write_text("All work and no play. " * 400)

        def must(*command):
            done = bare_system.inside(root, *command)
            self.assertEqual(done.returncode, 0, f"{command}:\n{done.stdout}{done.stderr}")
            return done.stdout

        must("ldconfig")
        must("hocket", "data", "prepare", "text.txt", "-o", "text",
             "--tokenizer", "byte")  # fmt: skip
        must("hocket", "compile", f"/usr/{NANO}", "-o", "nano.hkx", "--set",
             "model.layers=1", "--set", "training.data.split=100")  # fmt: skip
        out = must("hocket", "train", "nano.hkx", "--data", "text", "--steps", 1)
        self.assertIn("iteration        1/", out)


if __name__ == "__main__":
    unittest.main()
