#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Processes of one run: they wait for each other, and compare what they run."""

import os
import shutil
import signal
import subprocess
import unittest

import programs
from rank_processes import TIMEOUT, RankProcesses, free_port, variables

TRAIN = ("two.hkx", "--data", "data")


class WaitingTest(RankProcesses):
    def test_a_signal_ends_a_process_that_waits(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            port = free_port()
            with self.rank(variables(0, port), *TRAIN) as process:
                self.wait_for(
                    process, f"hocket: rank 0 waits at 127.0.0.1:{port} for rank 1 of 2"
                )
                process.send_signal(number)
                process.communicate(timeout=TIMEOUT)
                self.assertEqual(process.returncode, -number)

    def test_a_rank_says_that_rank_0_is_missing(self):
        port = free_port()
        with self.rank(variables(1, port), *TRAIN) as process:
            self.wait_for(process, f"hocket: rank 1 waits for rank 0 at 127.0.0.1:{port}")
            process.terminate()
            process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, -signal.SIGTERM)


class ComparisonTest(RankProcesses):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rate = "training.learning_rate.peak=5e-2"
        cls.compile("other.hkx", "--set", rate)
        cls.write_tokens("other", seed=2)

    def expect_refused(self, other, what, first=TRAIN):
        """Rank 1 runs `other`; both ranks say `what`, and train nothing."""
        port = free_port()
        ended = self.run_ranks([variables(0, port), variables(1, port)], [first, other])
        for status, text in ended:
            self.assertEqual(status, 2, text)
            self.assertRegex(text, f"(?m)^hocket: rank 1 {what}")
            self.assertNotIn("iteration", text)

    def test_the_same_runs(self):
        port = free_port()
        ended = self.run_ranks([variables(0, port), variables(1, port)], [TRAIN, TRAIN])
        self.assertEqual([status for status, _ in ended], [0, 0], ended)
        self.assertIn("rank 0 of 2, a process each, by torchrun", ended[0][1])

    def test_another_executable(self):
        self.expect_refused(
            ("other.hkx", "--data", "data"),
            "runs another executable: [0-9a-f]{16}-[0-9a-f]{8}, rank 0 has ",
        )

    def test_another_seed(self):
        self.expect_refused((*TRAIN, "--seed", 8), "has another seed: 8, rank 0 has 7$")

    def test_another_number_of_steps(self):
        self.expect_refused(
            (*TRAIN, "--steps", 5), "trains another number of steps: 5, rank 0 has 4$"
        )

    def test_other_data(self):
        self.expect_refused(
            ("two.hkx", "--data", "other"),
            r"has other data: [0-9a-f]{16} \(other\), rank 0 has [0-9a-f]{16} \(data\)$",
        )
        self.expect_refused(
            ("two.hkx", "--data", "none"), r"has other data: none.idx: there is no such"
        )

    def test_the_same_data_elsewhere_is_the_same(self):
        for file in self.folder.glob("data_*"):
            copy = self.folder / file.name.replace("data", "copy", 1)
            shutil.copyfile(file, copy)
        port = free_port()
        ended = self.run_ranks(
            [variables(0, port), variables(1, port)],
            [TRAIN, ("two.hkx", "--data", "copy")],
        )
        self.assertEqual([status for status, _ in ended], [0, 0], ended)

    def test_another_option(self):
        self.expect_refused((*TRAIN, "--save", "saved"), "has other options: --save ")
        self.assertFalse(self.folder.joinpath("saved").exists())

    def test_another_loaded_step(self):
        for steps, folder in ((2, "early"), (3, "late")):
            done = programs.hocket(
                *("train", *TRAIN, "--steps", steps, "--save", folder), cwd=self.folder
            )
            self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_refused(
            (*TRAIN, "--load", "late"),
            "begins at another step: 3, rank 0 has 2; rank 1 has loaded another"
            r" checkpoint: [0-9a-f]{16} \(late\), rank 0 has",
            (*TRAIN, "--load", "early"),
        )

    def test_another_job(self):
        port = free_port()
        with self.rank(variables(0, port, SLURM_JOB_ID=8), *TRAIN) as first:
            with self.rank(variables(1, port, SLURM_JOB_ID=7), *TRAIN):
                self.wait_for(
                    first,
                    "rank 0 has turned away rank 1 at 127.0.0.1: it belongs to another"
                    " run than rank 0, which is of Slurm's job 8",
                )
            own = self.run_ranks([variables(1, port, SLURM_JOB_ID=8)], [TRAIN])
            self.assertEqual(own[0][0], 0, own)
            text = first.communicate(timeout=TIMEOUT)[0]
            self.assertEqual(first.returncode, 0, text)

    def test_another_executable_under_mpi(self):
        module = programs.BUILD / "lib/hocket-comm-mpi.so"
        if not shutil.which("mpirun") or not module.exists():
            self.skipTest("there is no MPI")
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        train = [str(programs.BUILD / "bin/hocket"), "train"]
        done = subprocess.run(
            ["mpirun", "--oversubscribe", "--bind-to", "none"]
            + ["-np", "1", *train, *TRAIN, ":"]
            + ["-np", "1", *train, "other.hkx", "--data", "data"],
            cwd=self.folder,
            env=os.environ | root,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("hocket: rank 1 runs another executable: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
