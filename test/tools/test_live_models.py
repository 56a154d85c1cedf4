# Part of Hocket, under the Apache License v2.0.
"""Models beside the transformers library, where it is installed.

    pip install torch transformers
    python3 test/tools/test_live_models.py

Each family's random model is imported and asked, trained for a step, exported, and
loaded again by transformers. The vocabulary is small enough for the server to tell
the log-probability of every token at every position.
"""

import http.client
import importlib.util
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from hugging_face_models import LLAMA3, MODELS, SIZES, WORDS
from programs import BUILD, hocket

# Last, as it has a module of the name of a package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "numerics"))

import corpus  # noqa: E402

MISSING = [n for n in ("torch", "transformers") if not importlib.util.find_spec(n)]
NEAR = 1e-5  # of a log-probability
LENGTH = 24
PROMPTS = [[(7 * i * i + 3 * i + k) % len(WORDS) for i in range(LENGTH)] for k in range(3)]
SENTENCES = [
    [" ".join(f"word{(d * i + 3 * k + d) % 15}" for k in range(2 + (d + i) % 5)) for i in range(9)]
    for d in range(30)
]
TEXT = "".join(f"word{i * i % 15} word{i % 7} word{3 * i % 11}\n" for i in range(400))

# Encoders, by their class.
BERTS = {
    "bert": ("BertForMaskedLM", {}),
    "bert, pretrained": ("BertForPreTraining", {
        "hidden_act": "gelu_new", "layer_norm_eps": 1e-6, "type_vocab_size": 3}),
    "bert, classes": ("BertForSequenceClassification", {"num_labels": 3}),
    "bert, choices": ("BertForMultipleChoice", {}),
}  # fmt: skip
# Of two stacks: by what tells T5 1.0 from 1.1.
T5 = {"vocab_size": len(WORDS), "d_model": 32, "d_kv": 12, "d_ff": 48, "num_layers": 3,
      "num_decoder_layers": 2, "num_heads": 4, "relative_attention_num_buckets": 8,
      "relative_attention_max_distance": 12, "decoder_start_token_id": 0}  # fmt: skip
# Of models that see images: the tower, the language model, and what is around them.
TOWER = {"hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3,
         "num_attention_heads": 3, "image_size": 12, "patch_size": 4,
         "projection_dim": 16}  # fmt: skip
LLAVAS = {
    "llava": (TOWER, {}, {"image_token_index": 19}),
    "llava, full": (
        {**TOWER, "hidden_act": "gelu", "layer_norm_eps": 1e-6},
        {"attention_bias": True, "rope_parameters": LLAMA3},
        {"image_token_index": 19, "vision_feature_select_strategy": "full",
         "vision_feature_layer": 1, "projector_hidden_act": "silu",
         "multimodal_projector_bias": False},
    ),
}  # fmt: skip
T5S = {
    "t5": ("t5", T5),
    "t5, gated, a head of its own": ("t5", {
        **T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
        "num_layers": 1, "num_decoder_layers": 3, "layer_norm_epsilon": 1e-3}),
    "t5, silu, dropout": ("t5", {
        **T5, "feed_forward_proj": "silu", "dropout_rate": 0.3, "num_decoder_layers": 3}),
    "mt5": ("mt5", {**T5, "feed_forward_proj": "gated-silu", "tie_word_embeddings": False}),
}  # fmt: skip
# Which of MODELS write texts.
WRITING = [
    "mamba2", "mamba2, one group, bounds, biases", "bamba", "nemotron_h", "gemma", "olmo3",
    "olmoe", "exaone4", "phi3", "seed_oss", "arcee", "ernie4_5", "helium", "glm", "glm4",
    "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "gptj", "granitemoe", "opt", "falcon", "falcon, two norms",
]  # fmt: skip
SPANS = {
    "training.encoder_sequence_length": LENGTH,
    "training.span_corruption.noise_density": 0.3,
    "training.span_corruption.mean_span_length": 2,
}
TRAINING = {
    "training.sequence_length": LENGTH,
    "training.micro_batch_size": 1,
    "training.global_batch_size": 2,
    "training.learning_rate.peak": 1e-2,
    "training.precision": "FP32",
    "training.steps": 2,
}
# Models that no folder was there for.
SPECS = {
    "gpt2": "activation: GELU_TANH",
    "llama": "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false kv_heads: 2 "
    "tied_embeddings: false",
    "qwen3": "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false kv_heads: 2 "
    "head_dim: 16 qk_norm: true vocab_padding: 16",
    "mixtral": "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false kv_heads: 2 "
    "tied_embeddings: false moe { experts: 4 top_k: 2 }",
    "mamba2": "norm: RMS_NORM position: NONE bias: false state_space { head_dim: 16 groups: 2 "
    "norm_groups: 2 } layer_kinds { name: 'state' mixer: MAMBA2 feed_forward: NO_FEED_FORWARD } "
    "pattern: 'state'",
    "bamba": "norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false state_space { "
    "head_dim: 16 } layer_kinds { name: 'state' mixer: MAMBA2 } layer_kinds { name: 'full' } "
    "pattern: 'state full'",
    "nemotron_h": "norm: RMS_NORM activation: RELU_SQUARED position: NONE bias: false kv_heads: 2 "
    "tied_embeddings: false state_space { head_dim: 16 } layer_kinds { name: 'state' mixer: MAMBA2 "
    "feed_forward: NO_FEED_FORWARD } layer_kinds { name: 'mlp' mixer: NO_MIXER } "
    "pattern: 'state mlp'",
}


def said(settings):
    return [word for item in settings.items() for word in ("--set", "%s=%s" % item)]


def must(*arguments):
    done = hocket(*arguments)
    if done.returncode:
        raise AssertionError(f"{arguments}: {done.stderr}")
    return done.stdout


def served(words, prompts, *arguments):
    """By prompt, by position but the first: the log-probability of each token, in
    the vocabulary's order, as `hocket serve` tells them."""
    command = [BUILD / "bin/hocket", "serve", *arguments, "--tokenizer", words, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                    break
            else:
                raise AssertionError("".join(lines))
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=60)
            body = {"prompt": prompts, "max_tokens": 0, "echo": True, "logprobs": len(WORDS)}
            connection.request("POST", "/v1/completions", json.dumps(body))
            answer = json.loads(connection.getresponse().read())
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
    tops = [choice["logprobs"]["top_logprobs"][1:] for choice in answer["choices"]]
    return [[[top[word] for word in WORDS] for top in row] for row in tops]


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveModelsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["HF_HUB_OFFLINE"] = "1"  # Nothing is fetched.
        import torch
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        cls.torch, cls.transformers = torch, transformers
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.words = cls.folder / "words"
        cls.words.mkdir()
        (cls.words / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        (cls.folder / "text.txt").write_text(TEXT)
        cls.data = cls.folder / "text"
        must("data", "prepare", cls.folder / "text.txt", "-o", cls.data, "--tokenizer", cls.words)
        documents = [{"text": ". ".join(s.capitalize() for s in d) + "."} for d in SENTENCES]
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        (cls.folder / "sentences.jsonl").write_text(lines)
        cls.sentences = cls.folder / "sentences"
        must("data", "prepare", cls.folder / "sentences.jsonl", "-o", cls.sentences,
             "--tokenizer", cls.words, "--split-sentences")  # fmt: skip
        cls.labelled = cls.folder / "labelled"
        classes = ("contradiction", "entailment", "neutral")
        rows = [
            f"{d[0]}\t{d[1]}\t{classes[i % 3]}\n"
            for i, d in enumerate(document for document in SENTENCES if len(document) > 1)
        ]
        (cls.folder / "pairs.tsv").write_text(
            "sentence1\tsentence2\tgold_label\n" + "".join(rows)
        )
        must("data", "prepare", cls.folder / "pairs.tsv", "-o", cls.labelled,
             "--tokenizer", cls.words, "--task", "mnli")  # fmt: skip
        cls.questions, passages = cls.folder / "questions", cls.folder / "race"
        passages.mkdir()
        for i, d in enumerate(document for document in SENTENCES if len(document) > 5):
            passage = {
                "article": d[0], "questions": [f"_ {d[1]}"], "options": [d[2:6]],
                "answers": ["ABCD"[i % 4]],
            }  # fmt: skip
            (passages / f"{i}.txt").write_text(json.dumps(passage))
        must("data", "prepare", passages, "-o", cls.questions, "--tokenizer", cls.words,
             "--task", "race")  # fmt: skip

    def publish(self, family, config, folder):
        """A random model whose norms and biases are not constant, and whose logits are
        as large as those of models that have learned."""
        self.torch.manual_seed(1)
        self.publish_model(self.transformers.AutoModelForCausalLM.from_config(
            self.transformers.AutoConfig.for_model(family, **config)
        ), family, folder)  # fmt: skip

    def publish_model(self, model, family, folder):
        with self.torch.no_grad():
            for name, each in model.named_parameters():
                norm = "norm" in name.lower() or ".ln_" in name
                centered = family in ("gemma", "gemma2", "gemma3_text", "nemotron")
                around = 1.0 if norm and name.endswith("weight") and not centered else 0.0
                around = 1.0 if name.endswith((".A_log", ".D")) else around
                each.normal_(around, 0.3 if "embed" in name or "wte" in name else 0.2)
                if "embed_positions" in name:  # OPT's first two, which nothing reads
                    each[:2] = 0
            for name, each in model.named_buffers():
                if name.endswith("e_score_correction_bias"):
                    each.normal_(0, 0.1)
            for name, each in model.named_parameters():
                if name.endswith("Attention.q.weight"):  # T5's scores have no scale.
                    each.mul_(model.config.d_kv**-0.5)
        model.save_pretrained(folder)

    def computed(self, folder):
        """What transformers computes of a folder, as served() tells it: with the code
        that each family defines, as others leave softcaps out."""
        model, told = self.transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=self.torch.float32, output_loading_info=True,
            attn_implementation="eager",
        )  # fmt: skip
        self.assertFalse(any(told.values()), told)  # Nothing is missing or left over.
        with self.torch.no_grad():
            logits = model(self.torch.tensor(PROMPTS), use_cache=False).logits.double()
        return self.torch.log_softmax(logits, -1)[:, :-1].tolist()

    def compare(self, folder, run, *arguments):
        """The largest difference at any position, of any token."""
        ours = served(self.words, PROMPTS, "--load", run, *arguments)
        theirs = self.computed(folder)
        pairs = [
            (a, b)
            for row, other in zip(ours, theirs, strict=True)
            for top, probabilities in zip(row, other, strict=True)
            for a, b in zip(top, probabilities, strict=True)
        ]
        self.assertEqual(len(pairs), len(PROMPTS) * (LENGTH - 1) * len(WORDS))
        # They say something: the likeliest tokens are not those of chance.
        self.assertGreater(max(b for _, b in pairs), math.log(2 / len(WORDS)))
        return max(abs(a - b) for a, b in pairs)

    def train(self, model, run, *arguments, data=None, settings=None):
        program = run.with_suffix(".hkx")
        must("compile", model, "-o", program, *said(settings or TRAINING))
        data = data or f"{self.data}_text_document"
        must("train", program, "--data", data, "--save", run, *arguments)

    def far_apart(self, folder, run, data, *arguments):
        """The largest difference of the log-probability of any masked token, or of
        any class: theirs of a sample by itself, ours of one padded to the length of
        all."""
        told = json.loads(must(
            "eval", "loss", "--load", run, "--data", data, "--split", "train",
            "--samples", "50", "--json", "--each", *arguments))  # fmt: skip
        names = json.loads((folder / "config.json").read_text())["architectures"]
        model, extra = getattr(self.transformers, names[0]).from_pretrained(
            folder, dtype=self.torch.float32, output_loading_info=True
        )
        self.assertFalse(any(extra.values()), extra)  # Nothing is missing or left over.
        model.eval()
        lengths = {len(sample["tokens"]) for sample in told["each"]}
        self.assertGreater(len(lengths), 2)
        if names[0] == "BertForMultipleChoice":
            return self.choices_apart(model, told)
        pairs = []
        for sample in told["each"]:
            with self.torch.no_grad():
                answer = model(
                    self.torch.tensor([sample["tokens"]]),
                    token_type_ids=self.torch.tensor([sample["token_types"]]),
                )
            logits = getattr(answer, "prediction_logits", getattr(answer, "logits", None))
            if logits.dim() == 2:  # Of classes, which the first token tells.
                logits = logits[None]
            theirs = self.torch.log_softmax(logits[0].double(), -1)
            places = [(i, label) for i, label in enumerate(sample["labels"]) if label >= 0]
            ours = sample["log_probabilities"]
            pairs += [(a, theirs[i, n].item()) for a, (i, n) in zip(ours, places, strict=True)]
        self.assertEqual(len(pairs), told["tokens"])
        self.assertGreater(max(b for _, b in pairs), math.log(2 / len(WORDS)))
        return max(abs(a - b) for a, b in pairs)

    def choices_apart(self, model, told, choices=4):
        """The same of the log-probability of the right choice of each question."""
        far = 0.0
        for first in range(0, len(told["each"]), choices):
            rows = told["each"][first : first + choices]
            length = max(len(row["tokens"]) for row in rows)

            def padded(name, rows=rows, length=length):
                lists = [row[name] + [0] * (length - len(row[name])) for row in rows]
                return self.torch.tensor([lists])

            mask = [[1] * len(r["tokens"]) + [0] * (length - len(r["tokens"])) for r in rows]
            with self.torch.no_grad():
                logits = model(
                    padded("tokens"), token_type_ids=padded("token_types"),
                    attention_mask=self.torch.tensor([mask]),
                ).logits  # fmt: skip
            theirs = self.torch.log_softmax(logits[0].double(), -1)
            self.assertEqual([len(r["log_probabilities"]) for r in rows], [1, 0, 0, 0])
            ours = rows[0]["log_probabilities"][0]
            far = max(far, abs(ours - theirs[rows[0]["labels"][0]].item()))
        self.assertGreater(len(told["each"]), 10 * choices)
        return far

    def spans_apart(self, folder, run, *arguments):
        """The largest difference of the log-probability of any label of corrupted
        spans."""
        told = json.loads(must(
            "eval", "loss", "--load", run, "--data", f"{self.data}_text_document", "--split",
            "train", "--samples", "20", "--json", "--each", *arguments))  # fmt: skip
        model, extra = self.transformers.AutoModelForSeq2SeqLM.from_pretrained(
            folder, dtype=self.torch.float32, output_loading_info=True
        )
        self.assertFalse(any(extra.values()), extra)  # Nothing is missing or left over.
        model.eval()
        pairs = []
        for sample in told["each"]:
            with self.torch.no_grad():
                answer = model(
                    input_ids=self.torch.tensor([sample["encoder_tokens"]]),
                    decoder_input_ids=self.torch.tensor([sample["tokens"]]),
                )
            theirs = self.torch.log_softmax(answer.logits[0].double(), -1)
            self.assertEqual(sample["tokens"], [0, *sample["labels"][:-1]])
            pairs += [
                (a, theirs[i, n].item())
                for i, (a, n) in enumerate(
                    zip(sample["log_probabilities"], sample["labels"], strict=True))
            ]  # fmt: skip
        self.assertEqual(len(pairs), told["tokens"])
        self.assertAlmostEqual(told["loss"], -sum(b for _, b in pairs) / len(pairs), places=5)
        return max(abs(a - b) for a, b in pairs)

    def publish_llava(self, tower, text, around, folder):
        self.torch.manual_seed(1)
        of = self.transformers
        config = of.LlavaConfig(
            vision_config=of.CLIPVisionConfig(**tower), **around,
            text_config=of.LlamaConfig(**{**SIZES, **text, "tie_word_embeddings": False}),
        )  # fmt: skip
        self.publish_model(of.LlavaForConditionalGeneration(config), "llava", folder)

    def images_apart(self, folder, run, prefix):
        """The largest difference of the log-probability of any label of a text with
        images."""
        told = json.loads(must("eval", "loss", "--load", run, "--data", prefix, "--split",
                               "train", "--samples", "20", "--json", "--each"))  # fmt: skip
        model, extra = self.transformers.LlavaForConditionalGeneration.from_pretrained(
            folder, dtype=self.torch.float32, output_loading_info=True
        )
        self.assertFalse(any(extra.values()), extra)  # Nothing is missing or left over.
        model.eval()
        side, patch = TOWER["image_size"], TOWER["patch_size"]
        rows, far, seen = (side // patch) ** 2 + 1, 0.0, set()
        for sample in told["each"]:
            count = (max(sample["image_rows"]) + rows) // rows
            # A row of zeros, then patches in reading order: channel, row, column.
            pixels = self.torch.tensor(sample["pixels"]).view(-1, rows, 3, patch, patch)
            grid = pixels[:count, 1:].unflatten(1, (side // patch, -1)).permute(0, 3, 1, 4, 2, 5)
            images = {"pixel_values": grid.reshape(-1, 3, side, side)} if count else {}
            with self.torch.no_grad():
                answer = model(input_ids=self.torch.tensor([sample["tokens"]]), **images)
            theirs = self.torch.log_softmax(answer.logits[0].double(), -1)
            places = [i for i, label in enumerate(sample["labels"]) if label >= 0]
            for ours, i in zip(sample["log_probabilities"], places, strict=True):
                far = max(far, abs(ours - theirs[i, sample["labels"][i]].item()))
            seen.add(count)
        self.assertEqual(seen, {0, 1, 2})
        return far

    def report(self, name, differences):
        for what, difference in differences.items():
            with self.subTest(name, what=what):
                self.assertLess(difference, NEAR)
        if __name__ == "__main__":
            print(name, *(f"{what} {d:.1e}" for what, d in differences.items()), sep=", ")

    def test_every_family_goes_in_and_out(self):
        short = ("--set", f"training.sequence_length={LENGTH}")
        for number, (name, (family, config)) in enumerate(MODELS.items()):
            with self.subTest(name):
                theirs, start, again, run, mine = (
                    self.folder / f"{number}-{part}"
                    for part in ("theirs", "start", "again", "run", "mine")
                )
                self.publish(family, config, theirs)
                must("checkpoint", "import", theirs, "-o", start)
                must("checkpoint", "export", start, "-o", again)
                self.train(theirs, run, "--load", start)
                must("checkpoint", "export", run, "-o", mine)
                self.report(name, {
                    "imported": self.compare(theirs, start, *short),
                    "exported": self.compare(again, start, *short),
                    "trained": self.compare(mine, run),
                })  # fmt: skip
                self.assertEqual((theirs / "model.safetensors").read_bytes(),
                                 (again / "model.safetensors").read_bytes())  # fmt: skip
                self.assertEqual(self.computed(theirs), self.computed(again))
                self.assertNotEqual(self.computed(theirs), self.computed(mine))

    def test_models_write_the_same_text(self):
        """Greedily, three texts in two rows, with keys, values and states that are kept."""
        words = [[5 + (7 * i * i + k) % 15 for i in range(n)] for k, n in enumerate((3, 9, 12))]
        asked = self.folder / "prompts.txt"
        asked.write_text("".join(" ".join(WORDS[i] for i in each) + "\n" for each in words))
        prompts = [[2, *each, 3] for each in words]  # As WordPiece has a text.
        for name in WRITING:
            with self.subTest(name):
                theirs, start = (self.folder / f"writing {name}{end}" for end in ("", " start"))
                self.publish(*MODELS[name], theirs)
                must("checkpoint", "import", theirs, "-o", start)
                told = must(
                    "generate", "--load", start, "--set", f"training.sequence_length={LENGTH}",
                    "--rows", "2", "--tokenizer", self.words, "--prompts", asked, "--tokens", "9",
                    "--greedy", "--ignore-eos")  # fmt: skip
                ours = [json.loads(line)["tokens"] for line in told.splitlines()]
                model = self.transformers.AutoModelForCausalLM.from_pretrained(
                    theirs, dtype=self.torch.float32, attn_implementation="eager"
                )
                # Without its cache, with which it does not cut steps as in training.
                written = [
                    model.generate(self.torch.tensor([each]), max_new_tokens=9, do_sample=False,
                                   use_cache=False)
                    for each in prompts
                ]  # fmt: skip
                self.assertEqual(
                    ours, [w[0, len(p):].tolist() for w, p in zip(written, prompts, strict=True)]
                )  # fmt: skip

    def test_berts_go_in_and_out(self):
        short = ("--set", f"training.sequence_length={LENGTH}")
        sizes = {name: size for name, size in SIZES.items() if "key_value" not in name}
        for name, (kind, config) in BERTS.items():
            with self.subTest(name):
                theirs, start, again, run, mine = (
                    self.folder / f"{kind}-{part}"
                    for part in ("theirs", "start", "again", "run", "mine")
                )
                self.torch.manual_seed(1)
                config = self.transformers.BertConfig(**{**sizes, **config})
                self.publish_model(getattr(self.transformers, kind)(config), "bert", theirs)
                (theirs / "vocab.txt").write_text((self.words / "vocab.txt").read_text())
                must("checkpoint", "import", theirs, "-o", start)
                must("checkpoint", "export", start, "-o", again)
                self.assertEqual((theirs / "model.safetensors").read_bytes(),
                                 (again / "model.safetensors").read_bytes())  # fmt: skip
                data = {
                    "BertForSequenceClassification": self.labelled,
                    "BertForMultipleChoice": self.questions,
                }.get(kind, self.sentences)
                more = {}
                if data == self.questions:  # A step has whole questions.
                    more = {"training.micro_batch_size": 4, "training.global_batch_size": 8}
                self.train(theirs, run, "--load", start, data=data,
                           settings={**TRAINING, **more})
                must("checkpoint", "export", run, "-o", mine)
                self.report(name, {
                    "imported": self.far_apart(theirs, start, data, *short),
                    "exported": self.far_apart(again, start, data, *short),
                    "trained": self.far_apart(mine, run, data),
                })  # fmt: skip
                self.assertNotEqual((theirs / "model.safetensors").read_bytes(),
                                    (mine / "model.safetensors").read_bytes())  # fmt: skip

    def publish_t5(self, family, config, folder):
        self.torch.manual_seed(1)
        config = self.transformers.AutoConfig.for_model(family, **config)
        model = self.transformers.AutoModelForSeq2SeqLM.from_config(config)
        if not getattr(config, "scale_decoder_outputs", False):  # A head of its own.
            head = self.torch.empty_like(model.lm_head.weight)
            model.lm_head.weight = self.torch.nn.Parameter(head)
        self.publish_model(model, family, folder)

    def test_t5s_go_in_and_out(self):
        for number, (name, (family, config)) in enumerate(T5S.items()):
            with self.subTest(name):
                theirs, start, again, run, mine = (
                    self.folder / f"t5-{number}-{part}"
                    for part in ("theirs", "start", "again", "run", "mine")
                )
                self.publish_t5(family, config, theirs)
                must("checkpoint", "import", theirs, "-o", start, *said(SPANS))
                must("checkpoint", "export", start, "-o", again)
                self.assertEqual((theirs / "model.safetensors").read_bytes(),
                                 (again / "model.safetensors").read_bytes())  # fmt: skip
                settings = {k: v for k, v in TRAINING.items() if "sequence_length" not in k}
                self.train(theirs, run, "--load", start, settings={**settings, **SPANS})
                must("checkpoint", "export", run, "-o", mine)
                self.report(name, {
                    "imported": self.spans_apart(theirs, start),
                    "exported": self.spans_apart(again, start),
                    "trained": self.spans_apart(mine, run),
                })  # fmt: skip
                self.assertNotEqual((theirs / "model.safetensors").read_bytes(),
                                    (mine / "model.safetensors").read_bytes())  # fmt: skip

    def test_llavas_go_in_and_out(self):
        """Of 17 words, a word that ends conversations and one that stands for images."""
        for number, (name, (tower, text, around)) in enumerate(LLAVAS.items()):
            with self.subTest(name):
                theirs, start, again, run, mine, data = (
                    self.folder / f"llava-{number}-{part}"
                    for part in ("theirs", "start", "again", "run", "mine", "data")
                )
                self.publish_llava(tower, text, around, theirs)
                rows = (tower["image_size"] // tower["patch_size"]) ** 2
                rows += around.get("vision_feature_select_strategy") == "full"
                token = around["image_token_index"]
                corpus.write_images(data, token, LENGTH, (tower["image_size"], rows, token, 2))
                settings = {
                    **TRAINING, "training.images_per_sequence": 2,
                    "training.data.eod_token": token - 1, "training.data.eod_mask_loss": "true",
                }  # fmt: skip
                must("checkpoint", "import", theirs, "-o", start, *said(settings))
                must("checkpoint", "export", start, "-o", again)
                self.assertEqual((theirs / "model.safetensors").read_bytes(),
                                 (again / "model.safetensors").read_bytes())  # fmt: skip
                self.train(theirs, run, "--load", start, data=data, settings=settings)
                must("checkpoint", "export", run, "-o", mine)
                self.report(name, {
                    "imported": self.images_apart(theirs, start, data),
                    "exported": self.images_apart(again, start, data),
                    "trained": self.images_apart(mine, run, data),
                })  # fmt: skip
                self.assertNotEqual((theirs / "model.safetensors").read_bytes(),
                                    (mine / "model.safetensors").read_bytes())  # fmt: skip

    def test_t5s_write_the_same_text(self):
        """Greedily, three texts in two rows, by what each layer keeps."""
        words = [[5 + (7 * i * i + k) % 15 for i in range(n)] for k, n in enumerate((3, 9, 12))]
        asked = self.folder / "prompts.txt"
        asked.write_text("".join(" ".join(WORDS[i] for i in each) + "\n" for each in words))
        prompts = [[2, *each, 3, 1] for each in words]  # As WordPiece has a text; then the end.
        for name, (family, config) in T5S.items():
            with self.subTest(name):
                theirs, start = (self.folder / f"writing {name}{end}" for end in ("", " start"))
                self.publish_t5(family, config, theirs)
                must("checkpoint", "import", theirs, "-o", start, *said(SPANS))
                told = must(
                    "generate", "--load", start, *said(SPANS),
                    "--rows", "2", "--tokenizer", self.words, "--prompts", asked, "--tokens", "9",
                    "--greedy", "--ignore-eos")  # fmt: skip
                ours = [json.loads(line)["tokens"] for line in told.splitlines()]
                model = self.transformers.AutoModelForSeq2SeqLM.from_pretrained(
                    theirs, dtype=self.torch.float32, attn_implementation="eager"
                )
                written = [
                    model.generate(self.torch.tensor([each]), max_new_tokens=9, min_new_tokens=9,
                                   do_sample=False, eos_token_id=len(WORDS) + 1,
                                   use_cache=False)  # Its own has layers of one stack.
                    for each in prompts
                ]  # fmt: skip
                self.assertEqual(ours, [w[0, 1:].tolist() for w in written])

    def test_models_of_ones_own_go_out(self):
        for family, says in SPECS.items():
            with self.subTest(family):
                spec, run, out = (self.folder / f"own-{family}{end}"
                                  for end in (".textproto", "", "-out"))  # fmt: skip
                spec.write_text(
                    f"model {{ layers: 2 hidden: 32 heads: 4 ffn: 48 vocab_size: {len(WORDS)} "
                    f"max_positions: 32 initializer {{ stddev: 0.2 }} {says} }}"
                    "training { data { split: \"1\" } }\n"
                )
                self.train(spec, run)
                must("checkpoint", "export", run, "-o", out)
                config = json.loads((out / "config.json").read_text())
                self.assertEqual(config["model_type"], family)
                self.report(f"own {family}", {"trained": self.compare(out, run)})


if __name__ == "__main__":
    unittest.main()
