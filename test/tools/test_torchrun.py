#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Ranks that torchrun has started: its agent has MASTER_PORT."""

import os
import pathlib
import shutil
import subprocess
import unittest

import programs
from rank_processes import TIMEOUT, RankProcesses, free_port, variables
from tcp_store import TcpStore

TRAIN = ("two.hkx", "--data", "data")


def elastic(rank, store, restarts=0):
    """What torchrun tells a worker, where its agent has a store."""
    return variables(
        rank,
        store.port,
        TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_RUN_ID="none",
        TORCHELASTIC_RESTART_COUNT=restarts,
    )


class StoreTest(RankProcesses):
    def expect_trained(self, environments):
        ended = self.run_ranks(environments, [TRAIN, TRAIN])
        self.assertEqual([status for status, _ in ended], [0, 0], ended)
        self.assertIn("rank 0 of 2, a process each, by torchrun", ended[0][1])

    def test_workers_meet_through_the_store(self):
        with TcpStore() as store:
            self.expect_trained([elastic(0, store), elastic(1, store)])
            self.assertEqual(list(store.values), [b"hocket/torchrun's run none/rank0"])

    def test_workers_that_are_started_again_meet_again(self):
        with TcpStore() as store:
            self.expect_trained([elastic(0, store), elastic(1, store)])
            before = dict(store.values)
            # An agent counts the restarts of its own workers alone.
            self.expect_trained([elastic(0, store, 1), elastic(1, store, 0)])
            self.assertNotEqual(before, store.values)

    def test_a_worker_waits_for_what_is_not_stale(self):
        with TcpStore() as store:
            self.expect_trained([elastic(0, store), elastic(1, store)])
            with self.rank(elastic(1, store), *TRAIN) as early:
                self.wait_for(early, "hocket: rank 1 waits for rank 0 at ")
                ended = self.run_ranks([elastic(0, store)], [TRAIN])
                self.assertEqual(ended[0][0], 0, ended)
                text = early.communicate(timeout=TIMEOUT)[0]
                self.assertEqual(early.returncode, 0, text)


def find_torchrun():
    """The real one: on the path, or named by HOCKET_TORCHRUN."""
    return os.environ.get("HOCKET_TORCHRUN") or shutil.which("torchrun")


@unittest.skipUnless(find_torchrun(), "PyTorch, and so torchrun, is not installed")
class TorchrunTest(RankProcesses):
    def torchrun(self, *options, script=None):
        hocket = [str(programs.BUILD / "bin/hocket"), "train", *TRAIN]
        return subprocess.run(
            [find_torchrun(), *map(str, options), "--no-python"]
            + (script or hocket),
            cwd=self.folder,
            env=os.environ | {"HOCKET_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=5 * TIMEOUT,
            check=False,
        )

    def expect_trained(self, *options, **more):
        done = self.torchrun("--nproc-per-node", 2, *options, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("rank 0 of 2, a process each, by torchrun", done.stdout)
        self.assertIn("iteration        4/       4", done.stdout)

    def test_static_rendezvous(self):
        self.expect_trained("--master-port", free_port())

    def test_standalone(self):
        self.expect_trained("--standalone")

    def test_c10d_rendezvous(self):
        endpoint = f"127.0.0.1:{free_port()}"
        self.expect_trained("--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint)

    def test_two_nodes(self):
        common = ["--nnodes", 2, "--nproc-per-node", 1, "--rdzv-backend", "c10d"]
        common += ["--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--rdzv-id", "7"]
        command = [find_torchrun(), *map(str, common), "--no-python"]
        command += [programs.BUILD / "bin/hocket", "train", *TRAIN]
        nodes = [
            subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(2)
        ]
        texts = [node.communicate(timeout=5 * TIMEOUT)[0] for node in nodes]
        self.assertEqual([node.returncode for node in nodes], [0, 0], texts)

    def test_workers_that_are_restarted_meet_again(self):
        script = self.folder / "fail-once.sh"
        script.write_text(
            '[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && [ "$RANK" = 1 ] && sleep 1 &&'
            f' exit 3\nexec {programs.BUILD}/bin/hocket train {" ".join(TRAIN)}\n'
        )
        for rendezvous in (["--master-port", free_port()], ["--standalone"]):
            self.expect_trained(
                *rendezvous, "--max-restarts", 1, script=["sh", str(script)]
            )


if __name__ == "__main__":
    unittest.main()
