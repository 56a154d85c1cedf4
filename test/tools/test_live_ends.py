# Part of Hocket, under the Apache License v2.0.
"""What a folder's files say of writing, beside transformers, where it is installed.

    pip install torch transformers
    python3 test/tools/test_live_ends.py

They name tokens at which `generate` of transformers ends, and say how it writes.
`hocket generate` and `hocket serve` write the same tokens.
"""

import importlib.util
import json
import pathlib
import tempfile
import unittest

from programs import hocket
from servers import Server

MISSING = [n for n in ("torch", "transformers") if not importlib.util.find_spec(n)]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[MASK]", *(f"word{i}" for i in range(40))]
PROMPT, TOKENS = "word1 word5 word3", 24


def must(*arguments):
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@unittest.skipIf(MISSING, f"needs {' and '.join(MISSING)}")
class LiveEndsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        import transformers

        transformers.utils.logging.set_verbosity_error()
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.theirs, cls.start = cls.folder / "theirs", cls.folder / "start"
        torch.manual_seed(3)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            vocab_size=len(WORDS), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=32,
            bos_token_id=None, eos_token_id=None, pad_token_id=None, initializer_range=0.3,
        ))  # fmt: skip
        model.save_pretrained(cls.theirs)
        (cls.theirs / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
        must("checkpoint", "import", cls.theirs, "-o", cls.start)

        def written(**said):
            """What transformers writes, with what the folder says now."""
            own = transformers.AutoModelForCausalLM.from_pretrained(cls.theirs, dtype=torch.float32)
            prompt = torch.tensor([[WORDS.index(word) for word in PROMPT.split()]])
            return own.generate(prompt, **said)[0, prompt.shape[1] :].tolist()

        cls.written = staticmethod(written)

    def says(self, name, **more):
        """Has a file of the folder say `more`."""
        path = self.theirs / name
        path.write_text(json.dumps({**json.loads(path.read_text()), **more}))

    def check(self, whole, ends):
        theirs = self.written(max_new_tokens=TOKENS, do_sample=False)
        self.assertEqual(theirs, whole[: next(i for i, t in enumerate(whole) if t in ends) + 1])
        asked = ("generate", "--load", self.start, "--tokenizer", self.theirs, "--greedy", "--json",
                 "--tokens", TOKENS, "--prompt", PROMPT)  # fmt: skip
        ours = json.loads(must(*asked))
        self.assertEqual((ours["tokens"], ours["finish"]), (theirs, "stop"))
        server = Server("--load", self.start, tokenizer=self.theirs)
        try:
            body = {"prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0}
            told = server.complete(**body)
            self.assertEqual(told["usage"]["completion_tokens"], len(theirs))
            self.assertEqual(told["choices"][0]["finish_reason"], "stop")
            # As vLLM: the token that ends a text is none of it.
            self.assertEqual(told["choices"][0]["text"].split(), [WORDS[t] for t in theirs[:-1]])
            self.assertEqual(ours["text"], told["choices"][0]["text"])
        finally:
            server.end()
        on = json.loads(must(*asked, "--ignore-eos"))
        self.assertEqual((on["tokens"], on["finish"]), (whole, "length"))

    def test_texts_end_where_transformers_ends_them(self):
        whole = self.written(max_new_tokens=TOKENS, do_sample=False)
        first = [t for i, t in enumerate(whole) if t not in whole[:i]]
        self.assertEqual(len(whole), TOKENS)
        self.assertGreater(len(first), 3)
        # The older way, and then the newer one, which counts alone.
        (self.theirs / "generation_config.json").unlink()
        self.says("config.json", eos_token_id=first[3])
        self.check(whole, {first[3]})
        (self.theirs / "generation_config.json").write_text("{}")
        self.says("generation_config.json", eos_token_id=first[2])
        self.check(whole, {first[2]})
        self.says("generation_config.json", eos_token_id=[first[3], first[1]])
        self.check(whole, {first[3], first[1]})

    def test_what_nobody_says_is_the_files_to_say(self):
        """Where nothing is drawn, or from one token."""
        plain = None
        for says in (
            {"do_sample": False, "max_new_tokens": 9},
            {"do_sample": False, "max_new_tokens": 14, "repetition_penalty": 1.8},
            {"do_sample": True, "max_new_tokens": 7, "temperature": 3.0, "top_k": 1},
            {"do_sample": True, "max_new_tokens": 7, "top_k": 5, "top_p": 1e-6},
        ):
            with self.subTest(says):
                (self.theirs / "generation_config.json").write_text(json.dumps(says))
                theirs = self.written()
                self.assertEqual(len(theirs), says["max_new_tokens"])
                ours = json.loads(must("generate", "--load", self.start, "--tokenizer", self.theirs,
                                       "--json", "--prompt", PROMPT))  # fmt: skip
                self.assertEqual((ours["tokens"], ours["finish"]), (theirs, "length"))
                plain = plain or theirs
                if "repetition_penalty" in says:
                    self.assertNotEqual(theirs[: len(plain)], plain)


if __name__ == "__main__":
    unittest.main()
