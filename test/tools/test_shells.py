# Part of Hocket, under the Apache License v2.0.
"""Completion in bash and zsh, and man pages: what is made of the help."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from programs import hocket

# Completes the words given to it as a person's Tab would.
ASK_BASH = """
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_hocket
printf '%s\\n' "${COMPREPLY[@]}"
"""


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bash = hocket("completion", "bash").stdout

    def completed(self, *words):
        command = ["bash", "-c", self.bash + ASK_BASH, "bash", "hocket", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(self.completed("tr"), ["train", "trace"])
        self.assertEqual(
            self.completed("data", ""),
            ["prepare", "merge", "inspect", "show", "chunks", "neighbors"],
        )

    def test_options(self):
        found = self.completed("data", "prepare", "--tok")
        self.assertEqual(found, ["--tokenizer"])
        self.assertIn("--cuda-graphs", self.completed("train", "x.hkx", "-"))

    def test_words_of_options(self):
        self.assertEqual(self.completed("train", "--cuda-graphs", "o"), ["on", "off"])

    def test_files_where_anything_may_stand(self):
        # An empty answer leaves names of files to the shell.
        self.assertEqual(self.completed("train", "--save", ""), [])
        self.assertEqual(self.completed("train", ""), [])

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_takes_its_script(self):
        script = hocket("completion", "zsh").stdout
        subprocess.run(["zsh", "-n"], input=script, text=True, check=True)
        self.assertIn("(auto on off)", script)

    def test_other_shells_are_refused(self):
        done = hocket("completion", "fish")
        self.assertEqual(done.returncode, 2)
        self.assertIn("SHELL wants bash or zsh, not 'fish'", done.stderr)


class ManualTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name) / "man1"
        cls.done = hocket("help", "--man", cls.folder)

    def test_every_command_has_a_page(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        pages = {path.stem for path in self.folder.iterdir()}
        self.assertLessEqual({"hocket", "hocket-train", "hocket-data-prepare"}, pages)
        top = (self.folder / "hocket.1").read_text()
        for page in pages:
            if page.count("-") == 1:
                self.assertIn(page.replace("-", "\\-") + "\\fR(1)", top)

    def test_what_begins_a_line_is_no_request(self):
        known = (".SH ", ".TP", ".TH ", ".nf", ".fi", ".PP")
        for path in self.folder.iterdir():
            for line in path.read_text().splitlines():
                if line.startswith((".", "'")):
                    self.assertTrue(line.startswith(known), f"{path}: {line}")

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_has_nothing_to_say(self):
        pages = sorted(self.folder.iterdir())
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8", *pages],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stderr, "")
        self.assertIn("hocket-train - Train a model", done.stdout)

    def test_a_folder_that_cannot_be_made(self):
        done = hocket("help", "--man", "/dev/null/man")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/dev/null/man: cannot be made", done.stderr)


if __name__ == "__main__":
    unittest.main()
