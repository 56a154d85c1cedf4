# Part of Hocket, under the Apache License v2.0.
"""What models that see images write, also in conversations, and their adapters, beside the
transformers and the peft library, where these are installed.

    pip install torch transformers pillow peft
    python3 test/tools/test_live_llava.py
"""

import base64
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import unittest

from servers import Server
from test_live_models import LLAVAS, SIZES, TOWER, TRAINING, WORDS, must, said

# Last, as it has a module of the name of a package.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "numerics"))

import corpus  # noqa: E402

MISSING = [n for n in ("torch", "transformers", "PIL") if not importlib.util.find_spec(n)]
NEAR = 1e-5  # of a log-probability
LENGTH, TOKEN, WRITTEN = 32, 19, 6
# Texts of words, and where images stand in them.
PROMPTS = ([5, TOKEN, 7], [6, 9], [TOKEN, 8, TOKEN, 5, 9, 6, 7], [TOKEN], [11, 12, 9, TOKEN])
# Plans, and heads of the tower, which tensor ranks divide.
PLANS = (((), 3), (("--mesh", "dp=2"), 3), (("--mesh", "tp=2,pp=2"), 2), (("--mesh", "cp=2"), 3))
# As llava's: of parts, images first.
TEMPLATE = """{% for m in messages %}{{ 'word1 ' if m['role'] == 'user' else 'word2 ' }}\
{% for p in m['content'] | selectattr('type', 'equalto', 'image') %}{{ 'word14 ' }}{% endfor %}\
{% for p in m['content'] | selectattr('type', 'equalto', 'text') %}{{ p['text'] + ' ' }}\
{% endfor %}{% endfor %}{% if add_generation_prompt %}{{ 'word2' }}{% endif %}"""


@unittest.skipIf(MISSING, f"{' and '.join(MISSING)} of Python are not here")
class LiveLlavaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["HF_HUB_OFFLINE"] = "1"  # Nothing is fetched.
        import torch
        import transformers

        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        cls.torch, cls.transformers = torch, transformers

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.words = self.folder / "words"
        self.words.mkdir()
        (self.words / "vocab.txt").write_text("\n".join(WORDS) + "\n")

    def publish(self, tower, text, around):
        """A random model, whose logits are as large as those of one that has learned."""
        of = self.transformers
        self.torch.manual_seed(2)
        sizes = {**SIZES, **text, "tie_word_embeddings": False, "max_position_embeddings": LENGTH}
        model = of.LlavaForConditionalGeneration(of.LlavaConfig(
            vision_config=of.CLIPVisionConfig(**tower), text_config=of.LlamaConfig(**sizes),
            **around,
        ))  # fmt: skip
        with self.torch.no_grad():
            for name, each in model.named_parameters():
                isWeight = "norm" in name and name.endswith("weight")
                each.normal_(1.0 if isWeight else 0.0, 0.3 if "embed" in name else 0.2)
        theirs = self.folder / "theirs"
        model.save_pretrained(theirs)
        return theirs, model.eval()

    def write_images(self):
        """The prompts, with files of noise."""
        import numpy as np
        from PIL import Image

        random, lines, seen = np.random.RandomState(4), [], []
        for number, prompt in enumerate(PROMPTS):
            files = []
            for i in range(prompt.count(TOKEN)):
                height, width = random.randint(9, 60, 2)
                pixels = random.randint(0, 256, (height, width, 3)).astype(np.uint8)
                files.append(f"{number}-{i}.png")
                Image.fromarray(pixels).save(self.folder / files[-1])
            seen.append(files)
            line = {"prompt": " ".join(WORDS[i] for i in prompt)}
            lines.append(json.dumps({**line, "images": files} if files else line) + "\n")
        (self.folder / "prompts.jsonl").write_text("".join(lines))
        return seen

    def asked(self, model, prompt, files, rows):
        """What transformers writes, and the log-probability of each token."""
        from PIL import Image
        from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

        side = TOWER["image_size"]
        processor = CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size=side)
        ids = [i for token in [2, *prompt, 3] for i in [token] * (rows if token == TOKEN else 1)]
        more = {}
        if files:
            images = [Image.open(self.folder / file) for file in files]
            more["pixel_values"] = processor(images=images, return_tensors="pt")["pixel_values"]
        with self.torch.no_grad():
            told = model.generate(
                input_ids=self.torch.tensor([ids]), **more, max_new_tokens=WRITTEN,
                min_new_tokens=WRITTEN, do_sample=False, return_dict_in_generate=True,
                output_scores=True, eos_token_id=len(WORDS) + 1, pad_token_id=0,
            )  # fmt: skip
        written = told.sequences[0, -WRITTEN:].tolist()
        said = [self.torch.log_softmax(s[0].double(), -1) for s in told.scores]
        return written, [row[token].item() for row, token in zip(said, written, strict=True)]

    def test_texts_about_images_are_the_same(self):
        """Greedily, five texts in two rows, with up to two images each."""
        files = self.write_images()
        for name, (tower, text, around) in LLAVAS.items():
            rows = (tower["image_size"] // tower["patch_size"]) ** 2
            rows += around.get("vision_feature_select_strategy") == "full"
            for plan, heads in PLANS:
                with self.subTest(name, plan=plan):
                    theirs, model = self.publish({**tower, "num_attention_heads": heads}, text,
                                                 around)  # fmt: skip
                    # So long as all that is written fits.
                    settings = {
                        **TRAINING, "training.images_per_sequence": 2,
                        "training.sequence_length": LENGTH, "training.data.eod_token": TOKEN - 1,
                        "training.data.eod_mask_loss": "true",
                    }  # fmt: skip
                    start = self.folder / f"{name} {heads} {'-'.join(plan)}"
                    must("checkpoint", "import", theirs, "-o", start, *said(settings))
                    told = must(
                        "generate", "--load", start, "--rows", "2", *plan, "--tokenizer",
                        self.words, "--prompts", self.folder / "prompts.jsonl", "--tokens",
                        WRITTEN, "--greedy", "--ignore-eos")  # fmt: skip
                    ours = [json.loads(line) for line in told.splitlines()]
                    for prompt, images, our in zip(PROMPTS, files, ours, strict=True):
                        tokens, scores = self.asked(model, prompt, images, rows)
                        self.assertEqual(our["tokens"], tokens)
                        for a, b in zip(our["log_probabilities"], scores, strict=True):
                            self.assertAlmostEqual(a, b, delta=NEAR)

    def asked_by_processor(self, model, around, messages):
        """What transformers' processor makes of messages, and the tokens that the model
        writes behind that."""
        from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

        side = TOWER["image_size"]
        processor = self.transformers.LlavaProcessor(
            CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size=side),
            self.transformers.BertTokenizer(
                str(self.words / "vocab.txt"), extra_special_tokens={"image_token": WORDS[TOKEN]}
            ),
            patch_size=TOWER["patch_size"], num_additional_image_tokens=1,
            vision_feature_select_strategy=around.get("vision_feature_select_strategy", "default"),
            chat_template=TEMPLATE,
        )  # fmt: skip
        inputs = processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True,
            return_tensors="pt",
        )  # fmt: skip
        given = {k: inputs[k] for k in ("input_ids", "pixel_values") if k in inputs}
        with self.torch.no_grad():
            told = model.generate(
                **given, max_new_tokens=WRITTEN, min_new_tokens=WRITTEN, do_sample=False,
                eos_token_id=len(WORDS) + 1, pad_token_id=0,
            )  # fmt: skip
        count = inputs["input_ids"].shape[1]
        return told[0, :count].tolist(), told[0, count:].tolist()

    def test_conversations_are_the_processors(self):
        """Of a server, with images in base64."""
        from PIL import Image

        self.write_images()
        (self.words / "chat_template.jinja").write_text(TEMPLATE)

        def talk(opened, *turns):
            """Messages of words and of files that are `opened`."""
            messages = []
            for turn in turns:
                parts = [opened.get(p, {"type": "text", "text": p}) for p in turn]
                role = "assistant" if len(messages) % 2 else "user"
                messages.append({"role": role, "content": parts})
            return messages

        files = ["0-0.png", "2-0.png", "2-1.png"]
        theirs, ours = {}, {}
        for file in files:
            path = self.folder / file
            theirs[file] = {"type": "image", "image": Image.open(path)}
            url = f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
            ours[file] = {"type": "image_url", "image_url": {"url": url}}
        talks = (
            [["0-0.png", "word1 word3"]],
            [["word5"]],
            [["2-0.png"], ["word9"], ["2-1.png"]],
            [["word8", "2-1.png"]],
        )
        for name, (tower, text, around) in LLAVAS.items():
            folder, model = self.publish(tower, text, around)
            settings = {
                **TRAINING, "training.images_per_sequence": 2,
                "training.sequence_length": LENGTH, "training.data.eod_token": TOKEN - 1,
                "training.data.eod_mask_loss": "true",
            }  # fmt: skip
            start = self.folder / f"served {name}"
            must("checkpoint", "import", folder, "-o", start, *said(settings))
            server = Server("--load", start, "--rows", "2", tokenizer=self.words)
            self.addCleanup(server.process.kill)
            for turns in talks:
                with self.subTest(name, turns=turns):
                    prompt, written = self.asked_by_processor(
                        model, around, talk(theirs, *turns)
                    )
                    messages = talk(ours, *turns)
                    told = server.say("/tokenize", {"messages": messages})
                    self.assertEqual(told["tokens"], prompt)
                    answer = server.chat(*messages, max_tokens=WRITTEN, temperature=0,
                                         ignore_eos=True, logprobs=True)  # fmt: skip
                    content = answer["choices"][0]["logprobs"]["content"]
                    self.assertEqual([c["token"] for c in content], [WORDS[i] for i in written])
            self.assertEqual(server.end(), 0)

    @unittest.skipIf(not importlib.util.find_spec("peft"), "peft of Python is not here")
    def test_adapters_are_pefts(self):
        """Trained here, loaded there; drawn there, loaded here; and merged."""
        import peft

        tower, text, around = LLAVAS["llava"]
        theirs, model = self.publish(tower, text, around)
        rows = (tower["image_size"] // tower["patch_size"]) ** 2
        data = self.folder / "data"
        corpus.write_images(data, TOKEN, LENGTH, (tower["image_size"], rows, TOKEN, 2))
        settings = {
            **TRAINING, "training.images_per_sequence": 2, "training.sequence_length": LENGTH,
            "training.data.eod_token": TOKEN - 1, "training.data.eod_mask_loss": "true",
            "training.lora": "{rank: 4 alpha: 8 targets: [QUERY, VALUE, GATE, DOWN]}",
        }  # fmt: skip
        start, run, adapter, merged, back = (
            self.folder / part for part in ("start", "run", "adapter", "merged", "back")
        )
        must("checkpoint", "import", theirs, "-o", start, *said(settings))
        must("compile", theirs, "-o", self.folder / "a.hkx", *said(settings))
        must("train", self.folder / "a.hkx", "--data", data, "--save", run, "--load", start,
             "--finetune")
        must("checkpoint", "export", run, "-o", adapter, "--format", "peft", "--base", str(theirs))
        must("checkpoint", "export", run, "-o", merged)
        ours = json.loads(must("eval", "loss", "--load", run, "--data", data, "--split", "train",
                               "--samples", "8", "--json"))  # fmt: skip
        with self.torch.no_grad():
            adapted = peft.PeftModel.from_pretrained(model, adapter)
            names = {n for n, _ in adapted.named_parameters() if "lora_" in n}
            self.assertEqual(len(names), 2 * 4 * SIZES["num_hidden_layers"])
            self.assertFalse(any("vision_tower" in n for n in names), names)
            by_peft = adapted.merge_and_unload().state_dict()
        model = self.transformers.LlavaForConditionalGeneration.from_pretrained(
            merged, dtype=self.torch.float32
        )
        for name, each in model.state_dict().items():
            self.assertLess((each - by_peft[name]).abs().max().item(), 1e-6, name)
        must("checkpoint", "import", adapter, "--base", theirs, "-o", back,
             *said({k: v for k, v in settings.items() if "lora" not in k}))  # fmt: skip
        again = json.loads(must("eval", "loss", "--load", back, "--data", data, "--split", "train",
                                "--samples", "8", "--json"))  # fmt: skip
        self.assertAlmostEqual(ours["loss"], again["loss"], places=6)


if __name__ == "__main__":
    unittest.main()
