#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes the golden files of the Megatron-LM tests with PyTorch, and holds
test/tools/torch_files.py, which writes the same without it, against PyTorch.
Run it in this folder.

legacy/       the model LLAMA of test/tools/megatron_models.py, bfloat16, two
              ranks of tensor parallelism, two of pipeline parallelism
torch_dist/   the same by torch.distributed.checkpoint, with layers stacked and
              shards as two ranks of tensor parallelism have them
"""

import collections
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
)
from torch.distributed.checkpoint.planner import SavePlan, TensorWriteData, WriteItem, WriteItemType

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))

import megatron_models as models  # noqa: E402

RANKS = (2, 2, 1)
SIZES = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 2}


def tensor(matrix):
    return torch.tensor(matrix.values).to(torch.bfloat16).reshape(matrix.shape)


def settings():
    """With what else is among them: types, paths."""
    return models.LLAMA.settings(**SIZES, params_dtype=torch.bfloat16, data_path=["text"],
                                 load=pathlib.PurePosixPath("run").name)  # fmt: skip


def start(name):
    shutil.rmtree(HERE / name, ignore_errors=True)
    folder = HERE / name / "iter_0000100"
    folder.mkdir(parents=True)
    (HERE / name / "latest_checkpointed_iteration.txt").write_text("100")
    return folder


def legacy():
    folder = start("legacy")
    for rank in models.all_ranks(RANKS):
        (chunk,) = models.rank_chunks(models.LLAMA, rank, RANKS)
        weights = collections.OrderedDict((name, tensor(part)) for name, part in chunk.items())
        weights["decoder.final_layernorm._extra_state"] = io.BytesIO(b"")
        state = {"args": settings(), "checkpoint_version": 3.0, "iteration": 100,
                 "model": weights, "rng_state": [{"torch_rng_state": torch.zeros(3)}]}  # fmt: skip
        to = folder / models.folder_of(rank, RANKS)
        to.mkdir()
        torch.save(state, to / "model_optim_rng.pt")


class Planner(dcp.DefaultSavePlanner):
    """Saves the shards of many ranks from one process."""

    def create_local_plan(self):
        items, self.shards = [], {}
        for name, (shape, shards) in self.state_dict.items():
            for offsets, part in shards:
                index = MetadataIndex(name, torch.Size(offsets))
                self.shards[index] = part
                data = TensorWriteData(
                    chunk=ChunkStorageMetadata(torch.Size(offsets), part.shape),
                    properties=TensorProperties.create_from_tensor(part),
                    size=torch.Size(shape),
                )
                items.append(WriteItem(index=index, type=WriteItemType.SHARD, tensor_data=data))
        self.plan = SavePlan(items)
        return self.plan

    def resolve_data(self, item):
        return self.shards[item.index]


def torch_dist():
    folder = start("torch_dist")
    state = {name: (shape, [(at, torch.tensor(values).to(torch.bfloat16).reshape(of))
                            for at, of, values in shards])
             for name, (shape, shards) in models.stacked(models.LLAMA).items()}  # fmt: skip
    writer = dcp.FileSystemWriter(folder, thread_count=2)
    dcp.save(state, storage_writer=writer, planner=Planner(flatten_state_dict=False), no_dist=True)
    torch.save({"args": settings(), "checkpoint_version": 3.0, "iteration": 100},
               folder / "common.pt")  # fmt: skip
    said = {"sharded_backend": "torch_dist", "sharded_backend_version": 1,
            "common_backend": "torch", "common_backend_version": 1}  # fmt: skip
    (folder / "metadata.json").write_text(json.dumps(said))


WRITE = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import torch_files as files
tensor = files.Tensor((2, 3), range(6), "bfloat16")
pathlib.Path(sys.argv[2]).write_bytes(files.save({"model": {"a": tensor}}))
"""


def check_writer():
    """In a process of its own: the writer has modules of PyTorch's names."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "a.pt"
        tools = str(HERE.parents[2] / "tools")
        subprocess.run([sys.executable, "-c", WRITE, tools, path], check=True)
        read = torch.load(path)["model"]["a"]
        assert read.dtype == torch.bfloat16 and read.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert torch.load(path, mmap=True)["model"]["a"].equal(read)


if __name__ == "__main__":
    legacy()
    torch_dist()
    check_writer()
