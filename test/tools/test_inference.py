# Part of Hocket, under the Apache License v2.0.
"""`hocket eval` and `hocket generate`, as a person calls them."""

import json
import math
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from programs import BUILD, hocket

SPEC = """model {
  layers: 1 hidden: 32 heads: 2 ffn: 64 vocab_size: 257 max_positions: 32
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 4 global_batch_size: 8 sequence_length: 32 steps: 400
  precision: FP32 learning_rate { peak: 1e-2 warmup_steps: 5 }
  data { split: "50,50,0" } validation { interval: 400 batches: 2 }
}
"""
T5 = """model {
  encoder { layers: 1 } layers: 1 hidden: 16 heads: 2 vocab_size: 300 norm: RMS_NORM
  activation: RELU bias: false attention_scale: 1 position: RELATIVE
}
training {
  micro_batch_size: 1 sequence_length: 32 encoder_sequence_length: 32 steps: 1
  span_corruption { sentinels: 20 }
}
"""
LINE = "to be or not to be that is the question\n"


class InferenceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        spec = cls.folder / "spec.textproto"
        spec.write_text(SPEC)
        cls.text = cls.folder / "text.txt"
        cls.text.write_text(LINE * 20)
        lines = cls.folder / "lines.jsonl"
        lines.write_text((json.dumps({"text": LINE * 4}) + "\n") * 40)
        cls.data = cls.folder / "lines"
        cls.run_ = cls.folder / "run"
        cls.program = cls.folder / "model.hkx"
        cls.log = cls.folder / "log.jsonl"
        for arguments in (
            ("data", "prepare", lines, "-o", cls.data, "--tokenizer", "byte", "--append-eod"),
            ("compile", spec, "-o", cls.program),
            ("train", cls.program, "--data", f"{cls.data}_text_document", "--save", cls.run_,
             "--log", cls.log),
        ):  # fmt: skip
            done = hocket(*arguments)
            assert done.returncode == 0, done.stderr

    def must(self, *arguments):
        done = hocket(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def ask(self, command, *arguments):
        return self.must(*command, "--load", self.run_, "--tokenizer", "byte", *arguments)

    def figures(self, task, *arguments):
        return json.loads(self.ask(("eval", task), "--json", *arguments))

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_the_loss_is_what_training_validated(self):
        logged = [json.loads(line) for line in self.log.read_text().splitlines()]
        valid = [line["valid_loss"] for line in logged if "valid_loss" in line]
        self.assertEqual(len(valid), 1)
        loss = json.loads(self.must("eval", "loss", "--load", self.run_, "--json",
                                    "--data", f"{self.data}_text_document"))  # fmt: skip
        self.assertEqual(loss["samples"], 16)
        self.assertAlmostEqual(loss["loss"], valid[0], delta=1e-5 * valid[0])
        self.assertAlmostEqual(loss["perplexity"], math.exp(loss["loss"]), places=9)

    def test_perplexity_by_token_and_by_word(self):
        plain = self.figures("perplexity", "--data", self.text)
        size = len(LINE) * 20
        self.assertEqual((plain["tokens"], plain["words"]), (size - 1, LINE.count(" ") * 20 + 1))
        self.assertEqual((plain["window"], plain["stride"]), (32, 16))
        total = -plain["log_probability"]
        self.assertAlmostEqual(plain["word_perplexity"],
                               math.exp(total / (plain["words"] - 1)), places=6)  # fmt: skip
        # It has learned the line: far better than a byte among 257.
        self.assertLess(plain["loss"], 1.5)
        # Windows that do not overlap begin without what was before them.
        near, apart = (self.figures("perplexity", "--data", self.text, "--stride", stride)
                       for stride in (1, 32))  # fmt: skip
        self.assertLess(near["loss"], apart["loss"] / 2)
        lines = self.ask(("eval", "perplexity"), "--data", self.text)
        self.assertIn("token perplexity", lines)
        wiki = self.write("wiki.txt", "the team 's first ( and last ) game @-@ winner .\n" * 9)
        joined = self.figures("perplexity", "--data", wiki, "--wikitext")
        self.assertEqual(joined["words"], 9 * 11 + 1)
        self.assertLess(joined["tokens"], len(wiki.read_text()) - 1)

    def test_every_plan_and_the_runtime_say_the_same(self):
        one = self.figures("perplexity", "--data", self.text)
        for plan in (("--mesh", "tp=2"), ("--set", "training.micro_batch_size=1"),
                     ("--mesh", "dp=2,cp=2")):  # fmt: skip
            other = self.figures("perplexity", "--data", self.text, *plan)
            self.assertAlmostEqual(other["loss"], one["loss"], delta=1e-5 * one["loss"])
        done = subprocess.run(
            [BUILD / "bin/hocket-runtime", "eval", "perplexity", self.program, "--load", self.run_,
             "--tokenizer", "byte", "--data", self.text, "--json"],
            capture_output=True, text=True, check=True)  # fmt: skip
        self.assertEqual(json.loads(done.stdout), one)

    def test_choices_and_last_words(self):
        questions = self.write("q.jsonl", "".join(
            json.dumps({"context": "to be or not", "choices": choices, "label": label}) + "\n"
            for choices, label in (([" to be", " zzzzz"], 0), ([" qqqqq", " to be"], 1))))  # fmt: skip
        choice = self.figures("choice", "--data", questions)
        self.assertEqual((choice["questions"], choice["accuracy"]), (2, 1.0))
        self.assertEqual((choice["accuracy_normalized"], choice["shortened"]), (1.0, 0))
        passages = self.write("l.jsonl", json.dumps({"text": "to be or not to be that is the"}) + "\n"
                              + json.dumps({"text": "is the question to be or xyz"}) + "\n")  # fmt: skip
        strict = self.figures("lambada", "--data", passages, "--strict")
        self.assertEqual((strict["passages"], strict["accuracy"], strict["tokens"]), (2, 0.5, 8))
        self.assertEqual(self.figures("lambada", "--data", passages)["tokens"], 2)

    def test_it_writes_what_it_has_learned(self):
        text = self.ask(("generate",), "--prompt", "to be or not", "--tokens", 15, "--greedy")
        self.assertEqual(text, "to be or not to be that is \n"[:27] + "\n")
        stopped = self.ask(("generate",), "--prompt", "to be or not", "--tokens", 15, "--greedy",
                           "--stop", " that")  # fmt: skip
        self.assertEqual(stopped, "to be or not to be\n")
        one = json.loads(self.ask(("generate",), "--prompt", "to", "--tokens", 3, "--json"))
        self.assertEqual((len(one["tokens"]), one["finish"], one["prompt"]), (3, "length", "to"))
        self.assertEqual(len(one["log_probabilities"]), 3)
        full = json.loads(self.ask(("generate",), "--prompt", "to be", "--json", "--ignore-eos"))
        self.assertEqual((len(full["tokens"]), full["finish"]), (32 - 5 + 1, "context"))

    def test_prompts_of_a_file_are_answered_in_order(self):
        prompts = self.write("p.jsonl", "".join(
            json.dumps({"prompt": LINE[: 1 + i]}) + "\n" for i in range(11)))  # fmt: skip
        output = self.folder / "texts.jsonl"
        self.ask(("generate",), "--prompts", prompts, "-o", output, "--tokens", 6, "--top-k", 5)
        lines = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual([line["prompt"] for line in lines], [LINE[: 1 + i] for i in range(11)])
        # A text is its own: not its neighbours', nor the plan's.
        again = self.ask(("generate",), "--prompts", prompts, "--tokens", 6, "--top-k", 5,
                         "--rows", 3, "--mesh", "tp=2")  # fmt: skip
        texts = [json.loads(line)["text"] for line in again.splitlines()]
        self.assertEqual(texts, [line["text"] for line in lines])
        plain = self.write("p.txt", "to be\n\nor not\n")
        two = self.ask(("generate",), "--prompts", plain, "--tokens", 1).splitlines()
        self.assertEqual([json.loads(line)["prompt"] for line in two], ["to be", "or not"])

    def test_wrong_inputs_have_one_message(self):
        bad = self.write("bad.jsonl", '{"text": 1}\n')
        long = self.write("long.txt", "x" * 33 + "\n")
        empty = self.write("empty.txt", "")
        short = self.write("short.txt", "x")
        latin = self.folder / "latin.txt"
        latin.write_bytes(b"caf\xe9 au lait")
        vocabulary = self.folder / "bpe"
        text = self.write("words.txt", "".join(f"word{i} other{i}\n" for i in range(3000)))
        self.must("tokenizer", "train", text, "--vocab-size", 600, "-o", vocabulary)
        ended = self.folder / "ended"
        shutil.copytree(vocabulary, ended)
        (ended / "generation_config.json").write_text('{"eos_token_id": "</s>"}')
        load, byte = ("--load", self.run_), ("--tokenizer", "byte")
        perplexity, generate = ("eval", "perplexity", *load), ("generate", *load)
        cases = [
            ("nothing to go on from", *generate, *byte),
            ("top-p", *generate, *byte, "--prompt", "a", "--top-p", 0),
            ("top-p", *generate, *byte, "--prompt", "a", "--top-p", 1.5),
            ("temperature", *generate, *byte, "--prompt", "a", "--temperature", -1),
            ("temperature", *generate, *byte, "--prompt", "a", "--temperature", 1, "--greedy"),
            ("min-p", *generate, *byte, "--prompt", "a", "--min-p", 2),
            ("repetition-penalty", *generate, *byte, "--prompt", "a", "--repetition-penalty", 0),
            ("stop", *generate, *byte, "--prompt", "a", "--stop", ""),
            ("tokens", *generate, *byte, "--prompt", "a", "--tokens", "many"),
            ("--rows", *generate, *byte, "--prompt", "a", "--rows", 0),
            ("--rows", "generate", self.program, *load, *byte, "--prompt", "a", "--rows", 2),
            ("--prompt does not go with --prompts", *generate, *byte, "--prompt", "a", "--prompts", long),
            ("long.txt:1: the prompt has 33 tokens, the model sees 32", *generate, *byte,
             "--prompts", long),
            ("bad.jsonl:1: no JSON object with a \"prompt\"", *generate, *byte, "--prompts", bad),
            ("empty.txt: there is no prompt in it", *generate, *byte, "--prompts", empty),
            ("nowhere.txt", *generate, *byte, "--prompts", self.folder / "nowhere.txt"),
            ("is this the tokenizer that it was trained with?", *generate, "--tokenizer",
             vocabulary, "--prompt", "word7 other9 word11"),
            ("tokenizer", *generate, "--prompt", "a"),
            ("generation_config.json: \"eos_token_id\" is a token's number or a list of such",
             *generate, "--tokenizer", ended, "--prompt", "a", "--ignore-eos"),
            ("nothing.bpe", *generate, "--tokenizer", "nothing.bpe", "--prompt", "a"),
            ("--load", "generate", *byte, "--prompt", "a"),
            ("nowhere", "generate", "--load", self.folder / "nowhere", *byte, "--prompt", "a"),
            ("fewer than two tokens", *perplexity, *byte, "--data", short),
            ("latin.txt:1:4", *perplexity, *byte, "--data", latin),
            ("--stride 33 would leave out tokens", *perplexity, *byte, "--data", self.text,
             "--stride", 33),
            ("stride", *perplexity, *byte, "--data", self.text, "--stride", 0),
            ("is this the tokenizer that it was trained with?", *perplexity, "--tokenizer",
             vocabulary, "--data", self.text),
            ("plan.tensor_parallel", *perplexity, *byte, "--data", self.text, "--mesh", "tp=3"),
            ("bad.jsonl:1: these are the fields of no task", "eval", "choice", *load, *byte,
             "--data", bad),
            ("bad.jsonl:1: no JSON object with a \"text\"", "eval", "lambada", *load, *byte,
             "--data", bad),
            ("empty.txt: there is no passage in it", "eval", "lambada", *load, *byte, "--data",
             empty),
            ("nowhere", "eval", "loss", *load, "--data", self.folder / "nowhere"),
            ("split", "eval", "loss", *load, "--data", self.data, "--split", "most"),
        ]  # fmt: skip
        for message, *arguments in cases:
            with self.subTest(arguments[4:]):
                done = hocket(*arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(message, done.stderr)
                self.assertEqual(done.stdout, "")


    def test_entries_that_write(self):
        spec, writer, both = (self.folder / n for n in ("spec.textproto", "w.hkx", "b.hkx"))
        self.must("compile", spec, "--entries", "generate", "--prefill-tokens", 5, "-o", writer)
        self.must("compile", spec, "--entries", "train,generate", "-o", both)
        written = [
            self.must("generate", program, "--load", self.run_, "--tokenizer", "byte",
                      "--prompt", "to be or not to be", "--tokens", 9, "--json")
            for program in (self.program, writer, both)
        ]  # fmt: skip
        self.assertEqual(written[0], written[1])
        self.assertEqual(written[0], written[2])
        self.must("verify", writer)
        self.assertIn("decode takes", self.must("trace", writer, "-o", self.folder / "t.json"))
        self.must("inspect", writer, "--html", self.folder / "writer.html")
        gpu = self.folder / "gpu.hkx"
        self.must("compile", spec, "--entries", "generate", "--target", "cuda", "-o", gpu)
        self.must("verify", gpu)
        two_stacks = self.write("t5.textproto", T5)
        for arguments, message in (
            (("generate", two_stacks, "--load", self.run_, "--tokenizer", "byte",
              "--prompt", "to", "--mesh", "cp=2"),
             "no text can be written, since what an encoder reads is kept in caches: "
             "ranks that share sequences (cp) keep no cache"),
            (("train", writer, "--data", f"{self.data}_text_document", "--save", self.folder / "n"),
             "no entry 'train_step': it has eval_step, prefill and decode; compile it with "
             "--entries train"),
            (("compile", spec, "--entries", "train,write", "-o", writer),
             "--entries write: write train, generate, train,generate or embed"),
            (("compile", spec, "--entries", "generate", "--mesh", "cp=2", "-o", writer),
             "--entries generate: ranks that share sequences (cp) keep no cache"),
            (("compile", spec, "--prefill-tokens", 0, "-o", writer), "--prefill-tokens"),
            (("compile", spec, "--invariant-gemms", "--target", "cpu", "-o", writer),
             "--invariant-gemms is for --target cuda: on CPUs no GEMM depends on its number"),
            (("compile", self.folder / "x.mlir", "--entries", "generate", "-o", writer),
             "--entries: what a .mlir file holds is what its program does"),
        ):  # fmt: skip
            done = hocket(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        # A plan that chooses for training's ops trains too, and is asked all the same.
        problem, chosen, shardings = (self.folder / n for n in ("problem", "chosen", "shardings"))
        self.must("strategy", "export", spec, "--mesh", "tp=2", "--cluster", "h100:2", "-o", problem)
        self.must("strategy", "solve", problem, "-o", chosen, "--shardings", shardings)
        plan = ("--mesh", "tp=2", "--shardings", shardings)
        done = hocket("compile", spec, *plan, "--entries", "generate", "-o", writer)
        self.assertEqual(done.returncode, 2)
        self.assertIn("plan.shardings chooses for the ops of training alone", done.stderr)
        for command in (
            ("generate", spec, "--prompt", "to", "--tokens", 3),
            ("eval", "perplexity", spec, "--data", self.text),
        ):
            self.must(*command, *plan, "--load", self.run_, "--tokenizer", "byte")
        # What has no such entries writes by whole sequences.
        self.assertEqual(
            self.must("generate", spec, "--mesh", "cp=2", "--load", self.run_, "--tokenizer", "byte",
                      "--prompt", "to", "--tokens", 3, "--greedy"),
            self.must("generate", spec, "--load", self.run_, "--tokenizer", "byte", "--prompt",
                      "to", "--tokens", 3, "--greedy"),
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
