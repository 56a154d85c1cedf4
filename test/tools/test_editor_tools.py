#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""What editors and those who look for a bug use: hocket-lsp-server over its
standard streams, hocket-reduce, and the headers of specifications."""

import json
import pathlib
import re
import stat
import subprocess
import tempfile
import unittest

from programs import BUILD, ROOT

GOOD = """func.func @double(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = arith.addf %x, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
"""
BAD = GOOD.replace("return %y", "return %z")


class Server:
    """hocket-lsp-server and the base protocol of LSP: a header with the length,
    then JSON."""

    def __init__(self):
        self.process = subprocess.Popen(
            [BUILD / "bin/hocket-lsp-server"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.number, self.told = 0, []

    def send(self, method, **more):
        message = json.dumps({"jsonrpc": "2.0", "method": method, **more}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(message), message))
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params):
        self.number += 1
        self.send(method, id=self.number, params=params)
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                return message["result"]
            self.told.append(message)

    def diagnostics(self, uri):
        """What the server next says of a file."""
        while True:
            message = self.told.pop(0) if self.told else self.receive()
            if (message.get("method") == "textDocument/publishDiagnostics"
                    and message["params"]["uri"] == uri):  # fmt: skip
                return message["params"]["diagnostics"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def end(self):
        self.ask("shutdown", None)
        self.send("exit")
        return self.process.wait(60)


class LanguageServerTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.kill)
        self.uri = "file:///tmp/model.mlir"
        self.abilities = self.server.ask(
            "initialize",
            {"processId": None, "rootUri": None, "capabilities": {}},
        )["capabilities"]
        self.server.send("initialized", params={})

    def open(self, text):
        self.server.send("textDocument/didOpen", params={"textDocument": {
            "uri": self.uri, "languageId": "mlir", "version": 1, "text": text,
        }})  # fmt: skip
        return self.server.diagnostics(self.uri)

    def test_it_says_what_it_can(self):
        for ability in ("hoverProvider", "definitionProvider", "referencesProvider"):
            self.assertTrue(self.abilities.get(ability), ability)
        self.assertEqual(self.server.end(), 0)

    def test_a_fault_is_marked_where_it_is(self):
        found = self.open(BAD)
        self.assertEqual(len(found), 1, found)
        line = BAD.splitlines()[2]
        self.assertEqual(found[0]["range"]["start"], {"line": 2, "character": line.index("%z")})
        self.assertIn("undeclared SSA value", found[0]["message"])
        # Mended, it is gone.
        self.server.send("textDocument/didChange", params={
            "textDocument": {"uri": self.uri, "version": 2},
            "contentChanges": [{"text": GOOD}],
        })  # fmt: skip
        self.assertEqual(self.server.diagnostics(self.uri), [])
        self.assertEqual(self.server.end(), 0)

    def test_it_knows_the_dialects(self):
        ops = (ROOT / "test/dialects/xf/ops.mlir").read_text()
        self.assertEqual(self.open(ops), [])
        self.uri = "file:///tmp/second.mlir"
        found = self.open('"xf.no_such_op"() : () -> ()\n')
        self.assertIn("xf.no_such_op", found[0]["message"])
        self.assertEqual(self.server.end(), 0)


class ReduceTest(unittest.TestCase):
    """The reduction of docs/guide-writing-a-pass.md."""

    MODULE = """module {
  func.func @left(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = arith.addf %x, %x : tensor<4xf32>
    %b = arith.mulf %a, %x : tensor<4xf32>
    %c = arith.subf %b, %a : tensor<4xf32>
    return %c : tensor<4xf32>
  }
  func.func @culprit(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = arith.addf %x, %x : tensor<4xf32>
    %b = arith.divf %a, %x : tensor<4xf32>
    %c = arith.mulf %b, %b : tensor<4xf32>
    return %c : tensor<4xf32>
  }
  func.func @right(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = arith.maximumf %x, %x : tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
"""

    def test_a_failing_module_gets_smaller(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "failing.mlir").write_text(self.MODULE)
            tester = folder / "fails.sh"
            # 1: the file still shows the fault.
            tester.write_text('#!/bin/sh\ngrep -q arith.divf "$1" && exit 1\nexit 0\n')
            tester.chmod(tester.stat().st_mode | stat.S_IXUSR)
            out = folder / "small.mlir"
            done = subprocess.run(
                [BUILD / "bin/hocket-reduce", folder / "failing.mlir",
                 f"--reduction-tree=traversal-mode=0 test={tester}", "-o", out],
                capture_output=True, text=True, check=False, cwd=folder,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            small = out.read_text()
            self.assertIn("arith.divf", small)
            self.assertLess(len(small), len(self.MODULE) / 2)
            self.assertNotIn("@left", small)
            self.assertNotIn("@right", small)
            parsed = subprocess.run([BUILD / "bin/hocket-opt", out], capture_output=True,
                                    text=True, check=False)  # fmt: skip
            self.assertEqual(parsed.returncode, 0, parsed.stderr)


class SpecificationHeaderTest(unittest.TestCase):
    """Editors of textproto complete fields by these two lines."""

    def test_every_example_names_its_schema(self):
        specs = sorted((ROOT / "examples").rglob("spec.textproto"))
        self.assertGreater(len(specs), 4)
        specs += sorted((ROOT / "runtime/cluster/systems").glob("*.textproto"))
        for spec in specs:
            lines = spec.read_text().splitlines()[:2]
            file = re.fullmatch(r"# proto-file: (\S+)", lines[0])
            message = re.fullmatch(r"# proto-message: (\S+)", lines[1])
            self.assertTrue(file and message, spec)
            schema = (ROOT / file[1]).read_text()
            package = re.search(r"^package (\S+);", schema, re.M)[1]
            head, _, name = message[1].rpartition(".")
            self.assertEqual(head, package, spec)
            self.assertRegex(schema, rf"(?m)^message {name} ")


if __name__ == "__main__":
    unittest.main()
