#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden/expert_peft/ with PEFT: python3 make_expert_peft_golden.py

Each expert has adapters of its own, under the names that its family publishes its experts
by. PEFT loads them onto models that Hocket drew, and merges them; of each tensor of the
merged model a fingerprint is kept. Needs what make_adapter_golden.py does.
"""

import json
import pathlib
import tempfile

# First: it makes room for the module safetensors that PEFT needs.
from make_adapter_golden import peft, publish, safetensors, torch, training, transformers

RANK, ALPHA = 2, 3
GOLDEN = training.HERE / "golden" / "expert_peft"
# A folder of experts of a layer, their modules, and layers that have them.
EXPERTS = {
    "mixtral": ("block_sparse_moe.experts", ("w1", "w3", "w2"), (0, 1)),
    "qwen3_moe": ("mlp.experts", ("gate_proj", "up_proj", "down_proj"), (1,)),
}


def adapters(name, published):
    """Random matrices for all that is adapted in a published model."""
    experts, modules, layers = EXPERTS[name]
    tensors, generator = {}, torch.Generator().manual_seed(5)
    for key, (shape, _) in safetensors.read(published / "model.safetensors").items():
        of_layer = any(key.startswith(f"model.layers.{i}.{experts}.") for i in layers)
        if not of_layer and not key.endswith("self_attn.q_proj.weight"):
            continue
        stem = "base_model.model." + key.removesuffix(".weight")
        rows, columns = shape
        for side, size in (("A", (RANK, columns)), ("B", (rows, RANK))):
            values = torch.randn(size, generator=generator) * 0.2
            tensors[f"{stem}.lora_{side}.weight"] = list(size), values.flatten().tolist()
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA,
              "target_modules": ["q_proj", *modules], "base_model_name_or_path": name}  # fmt: skip
    return config, tensors


def main():
    for name in EXPERTS:
        folder = GOLDEN / name
        folder.mkdir(parents=True, exist_ok=True)
        with training.Run(name) as run, tempfile.TemporaryDirectory() as scratch:
            published, _ = publish(run, pathlib.Path(scratch))
            config, tensors = adapters(name, published)
            (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
            safetensors.write(folder / "adapter_model.safetensors", tensors)
            model = transformers.AutoModelForCausalLM.from_pretrained(published)
            merged = peft.PeftModel.from_pretrained(model, folder).merge_and_unload()
            merged.save_pretrained(pathlib.Path(scratch) / "merged")
            (path,) = (pathlib.Path(scratch) / "merged").glob("*.safetensors")
            found = training.fingerprint(safetensors.read(path))
        record = {"peft": peft.__version__, "merged": found}
        (folder / "merged.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {len(tensors)} matrices, {len(found)} tensors merged")


if __name__ == "__main__":
    main()
