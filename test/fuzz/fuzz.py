#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Damages others' files until a parser fails: what `make fuzz` runs.

    fuzz.py --build build-fuzz --hocket build/bin/hocket [--seconds 60] [--only NAME]...

Each target has libFuzzer for that long, with AddressSanitizer and UBSan. An input
may take 10 seconds, and no allocation 64 MiB and twice the largest input. What was
found stands in BUILD/fuzz/NAME, inputs that are worth keeping in BUILD/fuzz/corpus;
a later call goes on from there. Exit status 1 if there was a finding.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import seeds

LARGEST = 1 << 20  # bytes of an input
MOST_MIB = 64 + 2 * LARGEST // (1 << 20)
DONE = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+).* exec/s: (\d+)")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0],
        epilog="Exit status 1 if a parser failed; its inputs are named.",
    )
    parser.add_argument("--build", type=pathlib.Path, required=True,
                        help="a build with the preset fuzz")  # fmt: skip
    parser.add_argument("--hocket", type=pathlib.Path, required=True,
                        help="the program that makes sound files to begin with")  # fmt: skip
    parser.add_argument("--seconds", type=int, default=60, help="for each target (60)")
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="these targets alone; may be repeated")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="targets at once (one a core)")  # fmt: skip
    return parser.parse_args()


class Fuzzing:
    def __init__(self, arguments, files, beside):
        self.arguments, self.files, self.beside = arguments, files, beside
        self.folder = arguments.build.resolve() / "fuzz"

    def run(self, target):
        """(inputs tried, places reached, inputs a second), findings"""
        corpus, found = self.folder / "corpus" / target, self.folder / target
        shutil.rmtree(found, ignore_errors=True)
        for folder in (corpus, found):
            folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"HOCKET_FUZZ_TARGET": target}
        if target in self.beside:
            environment["HOCKET_FUZZ_FOLDER"] = str(self.beside[target])
        options = {
            "max_total_time": self.arguments.seconds,
            "max_len": LARGEST,
            "timeout": 10,
            "malloc_limit_mb": MOST_MIB,
            "rss_limit_mb": 2048,
            "print_final_stats": 1,
            "artifact_prefix": f"{found}/",
        }
        done = subprocess.run(
            [
                self.arguments.build / "test/bin/fuzzer",
                *(f"-{name}={value}" for name, value in options.items()),
                corpus,
                self.files[target][0].parent,
            ],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        (found / "log.txt").write_text(done.stderr)
        figures = DONE.findall(done.stderr)
        findings = sorted(path for path in found.iterdir() if path.name != "log.txt")
        if done.returncode and not findings:
            findings = [found / "log.txt"]
        return (figures[-1] if figures else ("?", "?", "?")), findings


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory() as scratch:
        made = seeds.Seeds(arguments.hocket.resolve(), scratch)
        files = made.write()
        if unknown := set(arguments.only or []) - set(files):
            print(f"error: no target {', '.join(sorted(unknown))}; there are "
                  f"{', '.join(files)}", file=sys.stderr)  # fmt: skip
            return 2
        targets = arguments.only or list(files)
        minutes = arguments.seconds * len(targets) / arguments.jobs / 60
        print(f"{len(targets)} targets, about {minutes:.0f} minutes", flush=True)
        fuzzing, failed = Fuzzing(arguments, files, made.beside), 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for target, (figures, findings) in zip(targets, pool.map(fuzzing.run, targets)):
                tried, reached, rate = figures
                print(f"{target:20} {tried:>10} inputs, {rate:>7} a second, "
                      f"{reached:>6} places reached, {len(findings)} findings", flush=True)  # fmt: skip
                for path in findings:
                    print(f"  {path}")
                failed += bool(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
