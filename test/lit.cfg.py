# Part of Hocket, under the Apache License v2.0.
# How lit runs the IR tests: one .mlir file is one test, its RUN lines say how.
# So does a .test file, of inputs that have no comments.

import os

import lit.formats

config.name = "hocket"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "benchmarks"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hocket_build, "test", "lit")

# Hocket's own programs come before any other of the same name.
config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.hocket_build, "bin"),
        config.llvm_tools,
        config.environment["PATH"],
    ]
)
config.substitutions.append(("%build", config.hocket_build))
config.substitutions.append(("%source", config.hocket_source))
