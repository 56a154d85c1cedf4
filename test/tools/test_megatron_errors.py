# Part of Hocket, under the Apache License v2.0.
"""`hocket checkpoint import` of files of Megatron-LM's that are damaged, made to
do harm, or of models that Hocket has not: one line each, status 2, nothing
written and nothing run."""

import pathlib
import shutil
import struct
import tempfile
import unittest
import zipfile

import megatron_models as models
import torch_files
from programs import hocket
from test_megatron_import import state_of, write_distributed, write_legacy

RANKS = (2, 2, 1)
EMBEDDING = "embedding.word_embeddings.weight"
PROTOCOL = b"\x80\x02"


def evil(module, name, argument):
    """A pickle that would call module.name(argument)."""
    text = argument.encode()
    return (PROTOCOL + f"c{module}\n{name}\n".encode() + b"X" + struct.pack("<I", len(text)) + text
            + b"\x85R.")  # fmt: skip


def evil_on_stack(module, name, argument):
    """The same as protocol 4 says it."""
    texts = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    return b"\x80\x04" + texts + b"\x93\x8c" + bytes([len(argument)]) + argument.encode() + b"\x85R."


class MegatronErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.sound = write_legacy(cls.folder / "sound", models.LLAMA, RANKS)
        cls.shards = write_distributed(cls.folder / "shards", models.LLAMA)
        cls.witness = cls.folder / "witness"

    def refuse(self, source, *messages, options=()):
        out = self.folder / "out"
        done = hocket("checkpoint", "import", source, "-o", out, *options)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for message in (str(source), *messages):
            self.assertIn(message, done.stderr)
        self.assertFalse(out.exists())
        self.assertFalse(self.witness.exists(), "a pickle was run")

    def copy(self, sound):
        to = self.folder / "copy"
        shutil.rmtree(to, ignore_errors=True)
        return shutil.copytree(sound, to)

    def with_file(self, raw):
        """A folder whose first rank's file is `raw`."""
        to = self.copy(self.sound)
        (to / "iter_0000007/mp_rank_00_000/model_optim_rng.pt").write_bytes(raw)
        return to

    def first_state(self, **settings):
        return state_of(models.LLAMA, (0, 0, 0), RANKS, **settings)

    def test_pickles(self):
        touch = f"touch {self.witness}"
        deep = b"]" * 5000 + b"a" * 4999
        for message, program in (
            ("names 'os.system', which no checkpoint", evil("os", "system", touch)),
            ("names 'posix.system'", evil("posix", "system", touch)),
            ("names 'builtins.eval'", evil_on_stack("builtins", "eval", "1")),
            ("names 'torch._utils.load'", evil("torch._utils", "load", "x")),
            ("names 'megatron-x.y'", evil("megatron-x", "y", "")),
            ("nested deeper than 200 levels", PROTOCOL + deep + b"."),
            ("contains itself", PROTOCOL + b"]q\x00h\x00a."),
            ("contains itself", PROTOCOL + b"}q\x00X\x01\x00\x00\x00ah\x00s."),
            ("memo 7 is read and was never", PROTOCOL + b"h\x07."),
            ("memo 4294967295 is written before", PROTOCOL + b"Nr\xff\xff\xff\xff."),
            ("opcode 0x69 is none that torch.save writes", PROTOCOL + b"iposix\nsystem\n."),
            ("opcode 0x50 is none", PROTOCOL + b"P0\n."),
            ("protocol 1, where 2 to 5", b"\x80\x01N."),
            ("the pickle is cut short", PROTOCOL + b"X\xff\xff\xff\x7fab"),
            ("the pickle is cut short", PROTOCOL + b"]"),
            ("a value is used that is not there", PROTOCOL + b"."),
            ("a value is used that is not there", PROTOCOL + b"](a."),
            ("a mark is used that is not there", PROTOCOL + b"]e."),
            ("a key without a value", PROTOCOL + b"}(NNNu."),
            ("items are put into None", PROTOCOL + b"NNa."),
            ("a call of 3", PROTOCOL + b"K\x03)R."),
            ("a state is given to a list", PROTOCOL + b"]}b."),
            ("holds no 'args'", PROTOCOL + b"}."),
        ):
            with self.subTest(message):
                self.refuse(self.with_file(torch_files.archive(program)), "mp_rank_00_000", message)

    def test_archives(self):
        sound = torch_files.save(self.first_state())
        program = b"\x80\x02N."
        end = sound.rindex(b"PK\x05\x06")
        for message, raw in (
            ("no zip archive, or the file is cut short", sound[: len(sound) // 2]),
            ("no zip archive, or the file is cut short", sound[:-1]),
            ("no zip archive", b""),
            ("no zip archive", program),
            ("is cut short or damaged", sound[1000:]),
            ("expected 4294967295 bytes at byte", sound[: end + 12] + b"\xff" * 4 + sound[end + 16 :]),
            ("archive of several disks", sound[: end + 4] + b"\1\0" + sound[end + 6 :]),
            ("is compressed", torch_files.archive(program, [bytes(999)],
                                                  compression=zipfile.ZIP_DEFLATED)),
            ("stored as 'big' endian", torch_files.archive(program, order=b"big")),
        ):  # fmt: skip
            with self.subTest(message):
                if message == "expected 4294967295 bytes at byte":
                    message = "table of members of 4294967295 bytes"
                self.refuse(self.with_file(raw), message)

    def test_tensors(self):
        shape, values = (8, 8), [1] * 64
        short = torch_files.Storage("bfloat16", bytes(100), claimed=64)

        def tensor(of=shape, **said):
            return torch_files.Tensor(of, values, said.pop("dtype", "bfloat16"), **said)

        for message, broken in (
            ("needs more than the 100 bytes of its storage", tensor(storage=short)),
            ("at byte 130 needs more than the 128 bytes", tensor(offset=65)),
            ("needs more than the 128 bytes", tensor((8, 9))),
            ("is too large", tensor((1 << 40, 1 << 40), stride=(1 << 40, 1))),
            ("shape, strides and offset are damaged", tensor((-1, 8), stride=(8, 1))),
            ("shape, strides and offset are damaged", tensor(offset=-1)),
            ("shape, strides and offset are damaged", tensor(stride=(1,))),
            ("strides [1, 8] of shape [8, 8] are not those of rows", tensor(stride=(1, 8))),
            ("strides [1000000, 1]", tensor(stride=(1000000, 1))),
            ("has type I64, expected F32", tensor(dtype="int64")),
            ("has shape [8, 8], expected that of the first rank, [8, 7]", tensor((8, 7))),
            ("has shape [2, 2, 2], expected one or two dims", tensor((2, 2, 2))),
        ):
            with self.subTest(message):
                state = self.first_state()
                state["model"][EMBEDDING] = broken
                source = self.with_file(torch_files.save(state))
                self.refuse(source, f"tensor '{EMBEDDING}'", message)

    def test_ranks(self):
        def without(name):
            source = self.copy(self.sound)
            shutil.rmtree(source / "iter_0000007" / name)
            return source

        for name in ("mp_rank_01_001", "mp_rank_00_001"):
            self.refuse(without(name), name, "is missing; every rank's file")
        self.refuse(without("mp_rank_00_000"), "mp_rank_00", "the first rank")
        source = self.copy(self.sound)
        shutil.copytree(source / "iter_0000007/mp_rank_00_000", source / "iter_0000007/mp_rank_02")
        self.refuse(source, "holds 5 folders mp_rank_*, but its settings say 4")
        source = self.copy(self.sound)
        (source / "latest_checkpointed_iteration.txt").write_text("8")
        self.refuse(source, "names ", "iter_0000008", "neither mp_rank_* nor .metadata")
        (source / "latest_checkpointed_iteration.txt").write_text("../../etc")
        self.refuse(source, "expected a number or 'release'")
        state = self.first_state()
        del state["model"]["decoder.layers.0.mlp.linear_fc1.weight"]
        self.refuse(self.with_file(torch_files.save(state)), "'decoder.layers.0.mlp.linear_fc1.weight'"
                    " is missing, of which 'layers.0.mlp.gate.weight' is made")  # fmt: skip
        state = self.first_state()
        state["model"]["x" * 5000] = state["model"][EMBEDDING]
        self.refuse(self.with_file(torch_files.save(state)), "a name of more than 4096 bytes")
        state = self.first_state()
        state["model"]["decoder.layers.0.cross_attention.weight"] = state["model"][EMBEDDING]
        self.refuse(self.with_file(torch_files.save(state)), "cross_attention.weight' is not part")
        state = self.first_state()
        state["model"]["decoder.layers.0.mlp.linear_fc2.bias"] = state["model"][EMBEDDING]
        state["model"]["decoder.layers.0.mlp.linear_fc1.bias"] = state["model"][EMBEDDING]
        self.refuse(self.with_file(torch_files.save(state)), "mp_rank_01_000",
                    "linear_fc1.bias' is missing, which the first rank has")  # fmt: skip

    def test_hybrids(self):
        """A Mamba layer's widths are seen at its other weights."""
        config, layer = models.Config(layers=2, pattern="M-"), "decoder.layers.0."
        mixer, sound = layer + "mixer.", write_legacy(self.folder / "hybrid", config)
        for message, change in (
            (f"'{mixer}in_proj.weight' has 48 rows, which are not those of a Mamba layer",
             lambda weights: weights.pop(mixer + "A_log")),
            (f"'{mixer}conv1d.bias' has 28 rows, which are not those of a Mamba layer",
             lambda weights: weights.pop(mixer + "norm.weight")),
            (f"'{mixer}dt_bias' is missing, of which 'layers.0.mixer.step_bias' is made",
             lambda weights: weights.pop(mixer + "dt_bias")),
            (f"'{mixer}conv1d.weight' has shape [28, 4, 1], expected one or two dims",
             lambda weights: weights.update({mixer + "conv1d.weight":
                                             torch_files.Tensor((28, 4, 1), [0.0] * 112)})),
            (f"'{layer}mlp.linear_fc1.weight' is not part of the model",
             lambda weights: weights.update({layer + "mlp.linear_fc1.weight":
                                             torch_files.Tensor((12, 8), [0.0] * 96)})),
        ):  # fmt: skip
            with self.subTest(message):
                state = state_of(config, (0, 0, 0), (1, 1, 1))
                change(state["model"])
                to = self.copy(sound)
                raw = torch_files.save(state)
                (to / "iter_0000007/mp_rank_00/model_optim_rng.pt").write_bytes(raw)
                self.refuse(to, message)

    def test_settings(self):
        for message, settings in (
            ("args.kv_lora_rank is not there", {"multi_latent_attention": True}),
            ("args.rope_type is 'su'; supported are rope and yarn",
             {"multi_latent_attention": True, "kv_lora_rank": 4, "qk_head_dim": 4,
              "qk_pos_emb_head_dim": 2, "v_head_dim": 4, "rope_type": "su"}),
            ("args.rotary_scaling_factor is not there, and yarn needs it",
             {"multi_latent_attention": True, "kv_lora_rank": 4, "qk_head_dim": 4,
              "qk_pos_emb_head_dim": 2, "v_head_dim": 4}),
            ("args.position_embedding_type is 'none'; supported with multi_latent_attention is rope",
             {"multi_latent_attention": True, "position_embedding_type": "none"}),
            ("args.mtp_num_layers is set", {"mtp_num_layers": 1}),
            ("args.position_embedding_type is 'relative'", {"position_embedding_type": "relative"}),
            ("is 'a?b?[2Jc'", {"position_embedding_type": "a\rb\x1b[2Jc"}),
            ("rotary_percent is 1.5; write a number above 0", {"rotary_percent": 1.5}),
            ("args.softmax_scale is no number", {"softmax_scale": "small"}),
            ("args.normalization is 'WeirdNorm'", {"normalization": "WeirdNorm"}),
            ("args.hidden_size is no whole number", {"hidden_size": 8.5}),
            ("args.num_layers is not there", {"num_layers": None}),
            ("args.num_layers: S", {"num_layers": -3}),
            ("args.padded_vocab_size is not there", {"vocab_size": None, "padded_vocab_size": None}),
            ("args.norm_epsilon is no number", {"norm_epsilon": "tiny"}),
            ("args.window_size is not (tokens before, 0)", {"window_size": (3, 3)}),
            ("args.moe_layer_freq is neither a number of layers nor a list with a 0 or a 1 for "
             "each of the 4", {"num_experts": 2, "moe_layer_freq": [1, 0]}),
            ("args.moe_router_load_balancing_type is 'even'; supported are seq_aux_loss, aux_loss, "
             "sinkhorn and none",
             {"num_experts": 2, "moe_router_load_balancing_type": "even"}),
            ("args.moe_aux_loss_coeff is not 0, and Megatron-LM has no such loss beside sinkhorn",
             {"num_experts": 2, "moe_router_load_balancing_type": "sinkhorn",
              "moe_aux_loss_coeff": 0.01}),
            ("args.moe_router_load_balancing_type is 'global_aux_loss', whose loads",
             {"num_experts": 2, "moe_router_load_balancing_type": "global_aux_loss"}),
            ("args.moe_router_load_balancing_type names several",
             {"num_experts": 2, "moe_router_load_balancing_type": ["seq_aux_loss", "none"]}),
            ("args.moe_input_jitter_eps", {"num_experts": 2, "moe_input_jitter_eps": 1.5}),
            ("args.moe_latent_size is set", {"num_experts": 2, "moe_latent_size": 4}),
            ("args.softmax_type is 'off-by-one'; supported is vanilla",
             {"softmax_type": "off-by-one"}),
            ("args.moe_router_dtype is 'fp64'", {"num_experts": 2, "moe_router_dtype": "fp64"}),
            ("args.hybrid_layer_pattern has 'G'; supported are M (Mamba-2), * (attention), - (an MLP), "
             "E (experts) and |", {"hybrid_layer_pattern": "MG*-"}),
            ("args.hybrid_override_pattern has '['", {"hybrid_override_pattern": "[M*]M-"}),
            ("args.hybrid_layer_pattern has a '/', behind which layers predict further tokens",
             {"hybrid_layer_pattern": "MM*-/M*"}),
            ("args.hybrid_layer_pattern has 3 layers, and args.num_layers is 4",
             {"hybrid_layer_pattern": "M|*-"}),
            ("args.hybrid_layer_pattern has an E, and args.num_experts is not there",
             {"hybrid_layer_pattern": "M*-E"}),
            ("args.hybrid_attention_ratio is set without hybrid_layer_pattern",
             {"is_hybrid_model": True, "hybrid_attention_ratio": 0.1}),
            ("args.norm_epsilon is 1e-06, and that of norms within Mamba layers 1e-05",
             {"hybrid_layer_pattern": "MM*-"}),
            ("S85: model.state_space.head_dim does not divide 2 * model.hidden",
             {"hybrid_layer_pattern": "MM*-", "norm_epsilon": 1e-5, "mamba_head_dim": 5}),
            ("args.mamba_head_dim is no whole number",
             {"hybrid_layer_pattern": "MM*-", "norm_epsilon": 1e-5, "mamba_head_dim": "4"}),
            ("args.no_rope_freq has a number that", {"no_rope_freq": [0, 2, 0, 1]}),
            ("args.window_attn_skip_freq is neither", {"window_attn_skip_freq": -1}),
            ("args.tensor_model_parallel_size is no whole", {"tensor_model_parallel_size": "two"}),
            ("args.tensor_model_parallel_size is 9999", {"tensor_model_parallel_size": 9999}),
        ):  # fmt: skip
            with self.subTest(message):
                state = self.first_state()
                for name, value in settings.items():
                    setattr(state["args"], name, value)
                self.refuse(self.with_file(torch_files.save(state)), message)
        state = self.first_state()
        state["checkpoint_version"] = 2.0
        self.refuse(self.with_file(torch_files.save(state)), "checkpoint_version is 2.0")

    def test_other_sizes(self):
        for message, option in (
            ("has shape [16, 8], expected [24, 8]", "model.heads=8"),
            ("has shape [12, 8], expected [14, 8]", "model.ffn=7"),
            ("has shape [16, 8], expected [17, 8] or more rows", "model.vocab_size=17"),
            ("'decoder.layers.3.input_layernorm.weight' is not part", "model.layers=3"),
            ("'decoder.layers.4.input_layernorm.weight' is missing", "model.layers=5"),
        ):
            with self.subTest(option):
                options = ["--set", option, "--set", "model.head_dim=2"]
                self.refuse(self.sound, message, options=options)

    def test_torch_dist(self):
        def changed(name, change):
            source = self.copy(self.shards)
            path = source / "iter_0000007" / name
            raw = change(path.read_bytes())
            path.unlink()
            if raw is not None:
                path.write_bytes(raw)
            return source

        touch = f"touch {self.witness}"
        for message, name, change in (
            ("common.pt", "common.pt", lambda raw: None),
            ("__0_1.distcp", "__0_1.distcp", lambda raw: None),
            ("cut short or damaged", "__0_1.distcp", lambda raw: raw[:5000]),
            ("cut short", ".metadata", lambda raw: raw[:900]),
            ("names 'os.system'", ".metadata", lambda raw: evil("os", "system", touch)),
            ("is a dict, expected the metadata", ".metadata", lambda raw: b"\x80\x04}."),
            ("expected a file name without folders", ".metadata",
             lambda raw: raw.replace(b"__0_1.distcp", b"../_1.distcp")),
        ):  # fmt: skip
            with self.subTest(message):
                self.refuse(changed(name, change), message)

    def test_shards(self):
        ones = torch_files.Tensor((6, 8), [1] * 48, "bfloat16")
        deep = torch_files.Tensor((6, 8, 1, 1), [1] * 48, "bfloat16")
        fc2 = "decoder.layers.mlp.linear_fc2.weight"
        for message, name, shape, shards in (
            ("its 1 shards are not all of shape [12, 8] once", EMBEDDING, (12, 8), [((0, 0), ones)]),
            ("its 2 shards are not all of", EMBEDDING, (12, 8), [((0, 0), ones), ((5, 0), ones)]),
            ("not inside of shape [11, 8]", EMBEDDING, (11, 8), [((6, 0), ones)]),
            ("other than 1 leading dims", fc2, (6, 8, 1, 1), [((0, 0, 0, 0), deep)]),
        ):
            with self.subTest(message):
                source = self.copy(self.shards)
                torch_files.save_distributed(source / "iter_0000007", {name: (shape, shards)})
                self.refuse(source, message)


if __name__ == "__main__":
    unittest.main()
