#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden/expert_parameters/ with PEFT: python3 make_expert_parameters_golden.py

Adapters of all experts of a layer in one matrix ("target_parameters"), as PEFT saves them
with transformers 5. Of mixtral they are what it makes; of qwen3_moe what it makes of the
adapters of each expert in golden/expert_peft; and those of qwen2_moe are wider than its
other adapters, which its dense layer and its shared experts have too. Of each tensor of the
merged model a fingerprint is kept. Needs what make_adapter_golden.py does.
"""

import json
import pathlib
import shutil
import tempfile

# First: it makes room for the module safetensors that PEFT needs.
from make_adapter_golden import peft, publish, safetensors, torch, training, transformers

RANK, ALPHA = 2, 3
GOLDEN = training.HERE / "golden" / "expert_parameters"
BOTH = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
CONFIGS = {
    "mixtral": {"target_modules": ["q_proj"], "target_parameters": BOTH},
    "qwen2_moe": {
        "target_modules": ["q_proj", "gate_proj", "up_proj", "down_proj"],
        "target_parameters": BOTH,
        "rank_pattern": {r".*\.gate_up_proj": 2 * RANK},
        "alpha_pattern": {r".*\.gate_up_proj": 2 * ALPHA},
    },
}


def adapted(name, model):
    if name not in CONFIGS:
        each = training.HERE / "golden" / "expert_peft" / name
        return peft.PeftModel.from_pretrained(model, each)
    config = peft.LoraConfig(r=RANK, lora_alpha=ALPHA, task_type="CAUSAL_LM", **CONFIGS[name])
    model = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if "lora_" in key:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2)
    return model


def main():
    for name in (*CONFIGS, "qwen3_moe"):
        folder = GOLDEN / name
        shutil.rmtree(folder, ignore_errors=True)
        with training.Run(name) as run, tempfile.TemporaryDirectory() as scratch:
            published, _ = publish(run, pathlib.Path(scratch))
            model = adapted(name, transformers.AutoModelForCausalLM.from_pretrained(published))
            model.save_pretrained(folder)
            (folder / "README.md").unlink(missing_ok=True)
            config = json.loads((folder / "adapter_config.json").read_text())
            config["base_model_name_or_path"] = name
            for key, value in config.items():
                if isinstance(value, list):
                    config[key] = sorted(value)
            (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
            model.merge_and_unload().save_pretrained(pathlib.Path(scratch) / "merged")
            (path,) = (pathlib.Path(scratch) / "merged").glob("*.safetensors")
            found = training.fingerprint(safetensors.read(path))
        record = {"peft": peft.__version__, "merged": found}
        (folder / "merged.json").write_text(json.dumps(record, indent=1) + "\n")
        print(f"{name}: {len(found)} tensors merged")


if __name__ == "__main__":
    main()
