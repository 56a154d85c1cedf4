# Part of Hocket, under the Apache License v2.0.
"""`hocket checkpoint import` of what Megatron-LM saves: every way to share a
model among ranks gives the same weights, bit for bit."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import megatron_models as models
import torch_files
from programs import BUILD, ROOT, hocket
from test_guides import blocks

sys.path.insert(0, str(ROOT / "test/numerics"))

import safetensors  # noqa: E402

GOLDEN = ROOT / "test/runtime/megatron/golden"


def tensor(part, dtype="bfloat16"):
    return torch_files.Tensor(part.shape, part.values, dtype)


def state_of(config, rank, ranks, chunks=1, rename=lambda name: name, prefix="", **settings):
    """What a rank saves."""
    sizes = {"tensor_model_parallel_size": ranks[0], "pipeline_model_parallel_size": ranks[1],
             "expert_model_parallel_size": ranks[2]}  # fmt: skip
    state = {"args": config.settings(**sizes | settings), "checkpoint_version": 3.0,
             "iteration": 7}  # fmt: skip
    for i, chunk in enumerate(models.rank_chunks(config, rank, ranks, chunks)):
        weights = {prefix + rename(name): tensor(part) for name, part in chunk.items()}
        state["model" if chunks == 1 else f"model{i}"] = weights
    return state


def write_legacy(folder, config, ranks=(1, 1, 1), chunks=1, **how):
    """A folder of Megatron-LM's, of iteration 7."""
    folder.mkdir()
    (folder / "latest_checkpointed_iteration.txt").write_text("7\n")
    for rank in models.all_ranks(ranks):
        to = folder / "iter_0000007" / models.folder_of(rank, ranks)
        to.mkdir(parents=True)
        raw = torch_files.save(state_of(config, rank, ranks, chunks, **how))
        (to / "model_optim_rng.pt").write_bytes(raw)
    return folder


def write_distributed(folder, config, rows=2, columns=2):
    to = folder / "iter_0000007"
    to.mkdir(parents=True)
    (folder / "latest_checkpointed_iteration.txt").write_text("7")
    common = {"args": config.settings(), "checkpoint_version": 3.0, "iteration": 7}
    (to / "common.pt").write_bytes(torch_files.save(common))
    tensors = {
        name: (shape, [(at, torch_files.Tensor(of, values, "bfloat16")) for at, of, values in parts])
        for name, (shape, parts) in models.stacked(config, rows, columns).items()
    }
    torch_files.save_distributed(to, tensors, files=3)
    return folder


def old_names(name):
    """Of the classes before Megatron Core."""
    for new, old in (("decoder.", "encoder."), ("linear_qkv", "query_key_value"),
                     ("linear_proj", "dense"), ("linear_fc1", "dense_h_to_4h"),
                     ("linear_fc2", "dense_4h_to_h"), ("pre_mlp_layernorm", "post_attention_norm"),
                     ("input_layernorm", "input_norm"), ("final_layernorm", "final_norm")):  # fmt: skip
        name = name.replace(new, old)
    return name


def engine_names(name):
    """Of Transformer Engine's modules, which hold the norm before them."""
    return name.replace("input_layernorm.", "self_attention.linear_qkv.layer_norm_").replace(
        "pre_mlp_layernorm.", "mlp.linear_fc1.layer_norm_"
    )


def latent_names(name):
    """The same, of norms of latents."""
    for norm, linear in (("q_layernorm", "linear_q_up_proj"), ("kv_layernorm", "linear_kv_up_proj")):
        name = name.replace(f".{norm}.", f".{linear}.layer_norm_")
    return name


def hybrid_names(name):
    """Of hybrids, whose last norm has another name."""
    name = engine_names(name).replace("final_layernorm", "final_norm")
    return re.sub(r"(layers\.\d+)\.norm\.", r"\1.mixer.in_proj.layer_norm_", name)


def newer_names(name):
    return hybrid_names(name).replace("conv1d.", "conv1d_")


def expected(config):
    """Hocket's tensors: name -> (shape, values)."""
    result, experts = {}, {}
    for name, weight in models.ours(config).items():
        words = name.split(".")
        if words[2:4] == ["mlp", "experts"]:
            experts.setdefault(".".join(words[:4] + words[5:]), []).append(weight)
        else:
            result[name] = list(weight.shape), weight.values
    for name, each in experts.items():
        values = [value for weight in each for value in weight.values]
        result[name] = [len(each), *each[0].shape], values
    return result


class MegatronImportTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def imported(self, source, *options):
        """The bytes of the weights."""
        to = self.folder / f"out-{len(list(self.folder.iterdir()))}"
        done = hocket("checkpoint", "import", source, "-o", to, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        merged = to.with_name(to.name + "-merged")
        done = hocket("checkpoint", "merge", to, "-o", merged, "--weights-only")
        self.assertEqual(done.returncode, 0, done.stderr)
        return next(merged.rglob("model.safetensors"))

    def check(self, source, config, *options):
        path = self.imported(source, *options)
        found = {name: (shape, list(values)) for name, (shape, values) in
                 safetensors.read(path).items()}  # fmt: skip
        self.assertEqual(found, expected(config))
        return path.read_bytes()

    def test_pytorchs_own_files(self):
        one = write_legacy(self.folder / "one", models.LLAMA)
        wanted = self.check(one, models.LLAMA)
        for name in ("legacy", "torch_dist", "legacy/iter_0000100", "torch_dist/iter_0000100"):
            with self.subTest(name):
                self.assertEqual(self.check(GOLDEN / name, models.LLAMA), wanted)

    def test_ranks_of_the_legacy_format(self):
        for name, config, ranks, how in (
            ("one rank", models.GPT2, (1, 1, 1), {}),
            ("tensor", models.GPT2, (2, 1, 1), {}),
            ("pipeline, tied", models.GPT2, (1, 4, 1), {}),
            ("both", models.GPT2, (2, 2, 1), {}),
            ("chunks", models.LLAMA, (2, 2, 1), {"chunks": 2}),
            ("engine", models.LLAMA, (2, 1, 1), {"rename": engine_names}),
            ("old", models.GPT2, (2, 1, 1), {"rename": old_names, "prefix": "language_model."}),
            ("module", models.LLAMA, (1, 1, 1), {"prefix": "module."}),
            ("experts", models.MOE, (1, 1, 2), {}),
            ("experts of stages", models.MOE, (2, 2, 4), {}),
            ("hybrid", models.HYBRID, (1, 1, 1), {"rename": hybrid_names}),
            ("hybrid of ranks", models.HYBRID, (2, 3, 2), {"rename": hybrid_names}),
            ("hybrid of newer names", models.HYBRID, (2, 1, 1), {"rename": newer_names}),
            ("latent", models.LATENT, (2, 2, 1), {}),
            ("latent, engine", models.LATENT, (2, 1, 1), {"rename": latent_names}),
            ("latent, experts", models.LATENT_MOE, (2, 1, 2), {}),
            ("retro", models.RETRO, (1, 1, 1), {}),
            ("retro of ranks", models.RETRO, (2, 1, 1), {}),
        ):
            with self.subTest(name):
                self.check(write_legacy(self.folder / name, config, ranks, **how), config)

    def test_shards_of_torch_dist(self):
        for name, config, rows, columns in (
            ("whole", models.GPT2, 1, 1),
            ("gpt2", models.GPT2, 2, 2),
            ("llama", models.LLAMA, 4, 2),
            ("moe", models.MOE, 2, 2),
            ("hybrid", models.HYBRID, 2, 2),
            ("latent", models.LATENT, 2, 2),
            ("retro", models.RETRO, 2, 2),
        ):
            with self.subTest(name):
                self.check(write_distributed(self.folder / name, config, rows, columns), config)

    def test_neighbors(self):
        path = self.imported(write_legacy(self.folder / "neighbors", models.RETRO))
        said = (path.parent / "manifest.json").read_text()
        for field in ("chunk_length: 4", "neighbors: 3", "retrieved_length: 8",
                      "encoder_layers: 2", "encoder_attention_dropout: 0.25",
                      "layers: 5"):  # fmt: skip
            self.assertIn(field, said)

    def test_latent_attention(self):
        """Its sizes, the scale of a scaled rope, and the biases of routers."""
        source = write_legacy(self.folder / "latent", models.LATENT_MOE)
        to = self.folder / "start"
        done = hocket("checkpoint", "import", source, "-o", to)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        spec = json.loads(next(to.rglob("manifest.json")).read_text())["spec"]
        scale = (0.1 * math.log(4) + 1) ** 2 / math.sqrt(8)
        found = float(re.search(r"attention_scale: (\S+)", spec)[1])
        self.assertAlmostEqual(found, scale, delta=1e-12)
        for field in ("kv_lora_rank: 5", "qk_nope_head_dim: 4", "qk_rope_head_dim: 4",
                      "v_head_dim: 3", "attention_factor: 1", "bias_rate: 0.002"):  # fmt: skip
            self.assertIn(field, spec)
        self.assertNotIn("q_lora_rank", spec)
        state = safetensors.read(next(to.rglob("optimizer.safetensors")))
        wanted = models.theirs(models.LATENT_MOE)["decoder.layers.1.mlp.router.expert_bias"]
        self.assertEqual(list(state["state.layers.1.mlp.router.bias"][1]), wanted.values)

    def test_capacity_of_experts(self):
        config = models.Config(layers=2, experts=4, capacity=1.25)
        path = self.imported(write_legacy(self.folder / "capacity", config))
        said = (path.parent / "manifest.json").read_text()
        self.assertIn("capacity_factor: 1.25", said)

    def test_variants_of_layers(self):
        """What Nemotron asks for, and a scale of scores."""
        how = {"rotary_percent": 0.5, "apply_layernorm_1p": True, "softmax_scale": 0.25}
        source = write_legacy(self.folder / "variants", models.Config(head_dim=4), **how)
        said = (self.imported(source).parent / "manifest.json").read_text()
        for field in ("rotary_percent: 0.5", "norm_zero_centered: true", "attention_scale: 0.25"):
            self.assertIn(field, said)

    def test_layers_that_differ(self):
        """Every second layer sees all tokens, the last one has no positions."""
        how = {"window_size": (3, 0), "window_attn_skip_freq": 2, "no_rope_freq": [0, 0, 0, 1]}
        source = write_legacy(self.folder / "kinds", models.LLAMA, **how)
        said = (self.imported(source).parent / "manifest.json").read_text()
        self.assertIn("sliding_window: 4", said)
        self.assertIn("sliding_attention full_attention sliding_attention full_attention_nope",
                      said)  # fmt: skip

    def test_patterns_of_hybrids(self):
        """A letter a layer; stages of the pipeline are nothing of the model."""
        for pattern, said in (
            ("MM*-ME", "mamba*2 sliding_attention mlp mamba experts"),
            ("M-M-|*-", "mamba mlp mamba mlp sliding_attention mlp"),
            ("MMMMMM", "mamba"),
        ):
            with self.subTest(pattern):
                config = models.Config(layers=6, pattern=pattern.replace("|", ""),
                                       experts=4 if "E" in pattern else 0)  # fmt: skip
                source = write_legacy(self.folder / pattern.strip("*|"), config,
                                      hybrid_layer_pattern=pattern, window_size=(3, 0))
                folder = self.imported(source).parent
                spec = json.loads((folder / "manifest.json").read_text())["spec"]
                self.assertIn(f'pattern: "{said}"', spec)
                self.assertIn("norm_groups: 2", spec)
                self.assertEqual("sliding_window: 4" in spec, "*" in pattern)

    def test_a_hybrid_leaves_as_a_folder(self):
        config = models.Config(layers=6, pattern="M-M*M-", swiglu=False)
        source = write_legacy(self.folder / "hybrid", config, squared_relu=True,
                              position_embedding_type="none")  # fmt: skip
        start, out = self.folder / "start", self.folder / "exported"
        for words in (("import", source, "-o", start), ("export", start, "-o", out)):
            done = hocket("checkpoint", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads((out / "config.json").read_text())
        self.assertEqual(said["model_type"], "nemotron_h")
        self.assertEqual(said["hybrid_override_pattern"], config.pattern)

    def test_a_model_of_states_alone(self):
        """Before there were patterns, a flag said it, and sizes had these values."""
        config = models.Config(layers=2, hidden=64, pattern="MM", state_dim=128,
                               state_head_dim=64, state_groups=2)  # fmt: skip
        source = write_legacy(
            self.folder / "alone", config, rename=hybrid_names, hybrid_layer_pattern=None,
            is_hybrid_model=True, mamba_head_dim=None, mamba_state_dim=None)  # fmt: skip
        self.check(source, config)

    def test_padding_of_the_vocabulary(self):
        source = write_legacy(self.folder / "padded", models.LLAMA)
        path = self.imported(source, "--set", "model.vocab_padding=8")
        shape, values = safetensors.read(path)["embedding.weight"]
        self.assertEqual(shape, [16, 8])
        self.assertEqual(list(values[:104]), models.ours(models.LLAMA)["embedding.weight"].values)
        self.assertEqual(list(values[104:]), [0] * 24)

    def test_what_is_imported_trains_and_generates(self):
        config, start = models.Config(vocabulary=257, padded=264, layers=2), self.folder / "start"
        write_distributed(self.folder / "megatron-run", config)
        (self.folder / "text.txt").write_text("Tyger Tyger, burning bright,\n" * 2000)
        environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}
        (block,) = blocks("guide-megatron.md")
        done = subprocess.run(["bash", "-ec", block], cwd=self.folder, env=environment,
                              capture_output=True, encoding="utf-8", check=False)  # fmt: skip
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        for arguments in (
            ("eval", "perplexity", "--load", start, "--tokenizer", "byte", "--data",
             self.folder / "text.txt"),
            ("generate", "--load", self.folder / "run", "--tokenizer", "byte", "--prompt", "Ty",
             "--tokens", 3),
            ("checkpoint", "export", start, "-o", self.folder / "exported"),
        ):  # fmt: skip
            done = hocket(*arguments)
            self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        said = json.loads((self.folder / "exported/config.json").read_text())
        self.assertEqual((said["model_type"], said["rope_theta"]), ("llama", 500000))


if __name__ == "__main__":
    unittest.main()
