#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden/adapter/ from PEFT: python3 make_adapter_golden.py

PEFT puts adapters beside the linear layers of the model "llama", whose weights Hocket
draws, and saves them: adapter_config.json and adapter_model.safetensors are its own.
Both matrices are random, since B is zero at first and A would have no gradient. In
fp64 PyTorch gives the first loss, the gradients of all adapters and the losses of
some steps of AdamW. Needs PyTorch, transformers and PEFT, which the tests that read
golden/ do not.
"""

import json
import pathlib
import sys
import tempfile

# The module safetensors of this folder is not the one that PEFT needs.
HERE = sys.path.pop(0)

import peft  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

sys.path.insert(0, HERE)
del sys.modules["safetensors"]

import safetensors  # noqa: E402
import training  # noqa: E402

RANK, ALPHA, STEPS = 4, 6, 10
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
GOLDEN = training.HERE / "golden" / "adapter"


def publish(run, folder):
    """The model's first weights as a Hugging Face folder, and its samples."""
    program = run.program(run.sgd)
    run.hocket("train", program, "--data", run.data, "--steps", 0, "--save", folder / "base")
    run.hocket("checkpoint", "export", folder / "base", "-o", folder / "published")
    return folder / "published", run.samples()


def adapted(folder):
    """The model in fp64 with random adapters."""
    model = transformers.LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager")
    config = peft.LoraConfig(
        r=RANK, lora_alpha=ALPHA, target_modules=list(TARGETS), task_type="CAUSAL_LM"
    )
    model = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2)
    return model


def backward(model, samples, step):
    """The mean loss of a step, whose gradient is accumulated."""
    first, total = step * training.GLOBAL_BATCH, 0.0
    batches = torch.tensor(samples[first : first + training.GLOBAL_BATCH]).split(2)
    for tokens in batches:
        logits = model(tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        (loss / len(batches)).backward()
        total += loss.item() / len(batches)
    return total


def trained(model):
    """Adapters by the names that PEFT saves them under."""
    return {
        name.replace(".default", ""): weight
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }


def main():
    with training.Run("llama") as run, tempfile.TemporaryDirectory() as scratch:
        folder, samples = publish(run, pathlib.Path(scratch))
        model = adapted(folder)
    model.save_pretrained(GOLDEN)
    (GOLDEN / "README.md").unlink(missing_ok=True)
    config = json.loads((GOLDEN / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "llama"
    (GOLDEN / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    model = model.double()
    weights = trained(model)
    optimizer = torch.optim.AdamW(
        weights.values(), lr=3e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1
    )
    losses, gradients = [], None
    for step in range(STEPS):
        losses.append(backward(model, samples, step))
        gradients = gradients or {n: (w.shape, w.grad.flatten().tolist()) for n, w in weights.items()}
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    safetensors.write(GOLDEN / "gradients.safetensors", gradients)
    record = {"rank": RANK, "alpha": ALPHA, "losses": losses, "peft": peft.__version__}
    (GOLDEN / "golden.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"PEFT {peft.__version__}: loss {losses[0]:.6f} to {losses[-1]:.6f}")


if __name__ == "__main__":
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    main()
