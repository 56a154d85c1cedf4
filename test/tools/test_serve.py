# Part of Hocket, under the Apache License v2.0.
"""`hocket serve`, asked over real connections."""

import concurrent.futures
import contextlib
import http.client
import json
import math
import pathlib
import socket
import tempfile
import threading
import time
import unittest

from programs import hocket
from servers import SECONDS, Server, converse

SPEC = """model {
  layers: 1 hidden: 32 heads: 2 ffn: 64 vocab_size: 257 max_positions: 32
  norm: RMS_NORM activation: SWIGLU position: ROTARY bias: false
}
training {
  micro_batch_size: 4 global_batch_size: 8 sequence_length: 32 steps: 60
  precision: FP32 learning_rate { peak: 1e-2 warmup_steps: 5 }
}
"""
LINE = "to be or not to be that is the question\n"
KEY = "0123456789abcdef-a-key"
DEEP = "[" * 200_000 + "]" * 200_000


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        (cls.folder / "spec.textproto").write_text(SPEC)
        (cls.folder / "lines.jsonl").write_text((json.dumps({"text": LINE * 4}) + "\n") * 40)
        cls.run_ = cls.folder / "run"
        for arguments in (
            ("data", "prepare", cls.folder / "lines.jsonl", "-o", cls.folder / "lines",
             "--tokenizer", "byte", "--append-eod"),
            ("compile", cls.folder / "spec.textproto", "-o", cls.folder / "model.hkx"),
            ("train", cls.folder / "model.hkx", "--data", cls.folder / "lines_text_document",
             "--save", cls.run_),
        ):  # fmt: skip
            done = hocket(*arguments)
            assert done.returncode == 0, done.stderr
        cls.server = Server("--load", cls.run_)
        cls.addClassCleanup(cls.server.end)

    def generated(self, prompt, *arguments):
        done = hocket("generate", "--load", self.run_, "--tokenizer", "byte", "--json",
                      "--prompt", prompt, *arguments)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_texts_are_those_of_generate(self):
        own = self.generated("to be", "--tokens", 12, "--greedy")
        answer = self.server.complete(prompt="to be", max_tokens=12, temperature=0, logprobs=0)
        choice = answer["choices"][0]
        self.assertEqual(choice["text"], own["text"])
        self.assertEqual(choice["logprobs"]["token_logprobs"], own["log_probabilities"])
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(answer["usage"],
                         {"prompt_tokens": 5, "completion_tokens": 12, "total_tokens": 17})  # fmt: skip
        self.assertEqual((answer["object"], answer["model"]), ("text_completion", "run"))
        # The same from tokens, and drawn with a seed.
        again = self.server.complete(prompt=list(b"to be"), max_tokens=12, temperature=0)
        self.assertEqual(again["choices"][0]["text"], own["text"])
        drawn = self.generated("or not", "--tokens", 9, "--seed", 7, "--top-k", 5)
        answer = self.server.complete(prompt="or not", max_tokens=9, seed=7, top_k=5, model="run")
        self.assertEqual(answer["choices"][0]["text"], drawn["text"])

    def test_echo_says_of_a_prompt_what_eval_says(self):
        """As lm-evaluation-harness asks for the likelihood of a text."""
        text = "not to be that is the"
        (self.folder / "text.txt").write_text(text)
        done = hocket("eval", "perplexity", "--load", self.run_, "--tokenizer", "byte",
                      "--data", self.folder / "text.txt", "--json")  # fmt: skip
        told = json.loads(done.stdout)
        answer = self.server.complete(prompt=list(text.encode()), max_tokens=1, temperature=0,
                                      logprobs=1, echo=True, seed=1234, model="run")  # fmt: skip
        choice = answer["choices"][0]
        parts = choice["logprobs"]
        self.assertTrue(choice["text"].startswith(text))
        self.assertEqual(len(parts["tokens"]), len(text) + 1)
        self.assertEqual((parts["token_logprobs"][0], parts["top_logprobs"][0]), (None, None))
        self.assertEqual(parts["tokens"][:3], ["n", "o", "t"])
        self.assertEqual(parts["text_offset"], list(range(len(text) + 1)))
        total = sum(parts["token_logprobs"][1:-1])
        self.assertAlmostEqual(total, told["log_probability"], delta=1e-5 * abs(total))
        for own, top in list(zip(parts["token_logprobs"], parts["top_logprobs"]))[1:]:
            self.assertLessEqual(own, max(top.values()))
            self.assertEqual(len(top), 1)
        # It was written greedily: the last is the likeliest.
        self.assertEqual(parts["token_logprobs"][-1], max(parts["top_logprobs"][-1].values()))
        most = self.server.complete(prompt="x", max_tokens=1, logprobs=20)
        tops = list(most["choices"][0]["logprobs"]["top_logprobs"][0].values())
        self.assertEqual((len(tops), tops), (20, sorted(tops, reverse=True)))
        self.assertLessEqual(sum(map(math.exp, tops)), 1 + 1e-6)
        # No token asked for: the prompt alone.
        alone = self.server.complete(prompt=text, max_tokens=0, logprobs=1, echo=True)
        self.assertEqual(alone["choices"][0]["logprobs"]["token_logprobs"],
                         parts["token_logprobs"][:-1])  # fmt: skip

    def test_many_prompts_and_choices(self):
        prompts = ["to be", "or", "that is the q"]
        answer = self.server.complete(prompt=prompts, n=3, max_tokens=6, seed=3, echo=True)
        choices = answer["choices"]
        self.assertEqual([choice["index"] for choice in choices], list(range(9)))
        for i, choice in enumerate(choices):
            self.assertTrue(choice["text"].startswith(prompts[i // 3]))
        self.assertGreater(len({choice["text"] for choice in choices}), 3)
        self.assertEqual(answer["usage"]["prompt_tokens"], sum(map(len, prompts)))
        whole = self.server.complete(prompt="to be", max_tokens=18, temperature=0)
        text = whole["choices"][0]["text"]
        stopped = self.server.complete(prompt="to be", max_tokens=18, temperature=0,
                                       stop=[text[7:10], "zzz"])  # fmt: skip
        self.assertEqual(stopped["choices"][0]["finish_reason"], "stop")
        self.assertEqual(stopped["choices"][0]["text"], text[: text.find(text[7:10])])

    def test_a_stream_says_the_same(self):
        body = {"prompt": ["to be", "is"], "max_tokens": 10, "seed": 5, "logprobs": 2}
        whole = self.server.complete(**body)
        status, text = self.server.ask("POST", "/v1/completions", {**body, "stream": True})
        self.assertEqual(status, 200)
        parts = text.split("\n\n")
        self.assertEqual(parts[-2:], ["data: [DONE]", ""])
        texts, values, reasons = ["", ""], [[], []], {}
        for part in parts[:-2]:
            choice, = json.loads(part.removeprefix("data: "))["choices"]
            texts[choice["index"]] += choice["text"]
            values[choice["index"]] += (choice["logprobs"] or {}).get("token_logprobs", [])
            if choice["finish_reason"]:
                reasons[choice["index"]] = choice["finish_reason"]
        for i, choice in enumerate(whole["choices"]):
            self.assertEqual(texts[i], choice["text"])
            self.assertEqual(values[i], choice["logprobs"]["token_logprobs"])
            self.assertEqual(reasons[i], choice["finish_reason"])

    def test_many_ask_at_once(self):
        """More than there are rows, and none changes what another gets."""
        def ask(i):
            return self.server.complete(prompt=f"to be {i % 4}", max_tokens=8, seed=i)

        alone = [ask(i)["choices"] for i in range(12)]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            together = [each["choices"] for each in pool.map(ask, range(12))]
        self.assertEqual(together, alone)

    def test_who_leaves_is_not_written_for(self):
        connection = socket.create_connection(("127.0.0.1", self.server.port))
        body = json.dumps({"prompt": ["to be"] * 64, "max_tokens": 27, "ignore_eos": True})
        connection.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
                           f"{len(body)}\r\n\r\n{body}".encode())  # fmt: skip
        connection.close()
        self.server.complete(prompt="x", max_tokens=1)
        for _ in range(SECONDS * 10):
            if self.server.say("/health", method="GET")["open"] == 0:
                break
            time.sleep(0.1)
        self.assertEqual(self.server.say("/health", method="GET")["open"], 0)

    def test_megatrons_api(self):
        own = self.generated("to be", "--tokens", 7, "--greedy")
        answer = self.server.say("/api", {"prompts": ["to be", "or"], "tokens_to_generate": 7,
                                          "temperature": 0, "logprobs": True}, "PUT")  # fmt: skip
        self.assertEqual(answer["text"][0], "to be" + own["text"])
        self.assertEqual(len(answer["segments"][0]), 12)
        self.assertEqual(answer["logprobs"][0][-7:], own["log_probabilities"])
        self.assertEqual(len(answer["logprobs"][1]), 1 + 7)
        told = self.server.say("/api", {"prompts": ["to be"], "tokens_to_generate": 0,
                                        "logprobs": True}, "PUT")  # fmt: skip
        self.assertEqual(told["logprobs"][0], answer["logprobs"][0][:4])
        self.assertEqual(told["text"], ["to be"])
        begun = self.server.say("/api", {"prompts": ["or"], "tokens_to_generate": 1,
                                         "add_BOS": True, "top_k": 1}, "PUT")  # fmt: skip
        self.assertEqual(len(begun["segments"][0]), 4)

    def test_tokens_models_and_health(self):
        tokens = self.server.say("/tokenize", {"prompt": "né"})
        self.assertEqual(tokens, {"count": 3, "max_model_len": 32, "tokens": [110, 195, 169]})
        self.assertEqual(self.server.say("/detokenize", {"tokens": [110, 195, 169]}),
                         {"prompt": "né"})  # fmt: skip
        models = self.server.say("/v1/models", method="GET")
        self.assertEqual([model["id"] for model in models["data"]], ["run"])
        self.assertEqual(self.server.say("/health", method="GET")["status"], "ok")

    WRONG = (
        ("", "line 1, column 1"),
        ("[1]", "no JSON object"),
        ('{"prompt": "a",\n "n": }', "line 2, column 7"),
        (b'{"prompt": "\xff"}', "not UTF-8 from byte 13"),
        ('{"prompt": "\\ud800"}', "no JSON"),
        ('{"prompt": "a", "prompt": "b"}', "expected each key once, found 'prompt' again"),
        # What copies or prints a value would call itself as often.
        ('{"prompt": %s}' % DEEP, "expected at most 1024 levels"),
        ('{"prompt": "a", "stop": %s}' % DEEP, "expected at most 1024 levels"),
        ('{"prompt": "a", "suffix": %s}' % DEEP, "expected at most 1024 levels"),
        ({}, "there is no field 'prompt'"),
        ({"prompt": 3}, "is a text, or a list of tokens"),
        ({"prompt": []}, "has 1 to 1024 prompts"),
        ({"prompt": [[]]}, "the prompt has no token"),
        ({"prompt": [1.5]}, "list of whole numbers"),
        ({"prompt": [-1]}, "list of whole numbers"),
        ({"prompt": [257]}, "token 257"),
        ({"prompt": [1, "a"]}, "list of whole numbers"),
        ({"prompt": ["a"] * 1025}, "has 1 to 1024 prompts"),
        ({"prompt": "a" * 33}, "33 tokens"),
        ({"prompt": "a" * 20}, "at most 13 can follow"),
        ({"prompt": "a", "model": "gpt-5"}, "'run' is served"),
        ({"prompt": "a", "max_tokens": -1}, "'max_tokens' is a whole number"),
        ({"prompt": "a", "max_tokens": 1.5}, "'max_tokens' is a whole number"),
        ({"prompt": "a", "max_tokens": "9"}, "'max_tokens' is a whole number"),
        ({"prompt": "a", "max_tokens": 1e300}, "'max_tokens' is a whole number"),
        ({"prompt": "a", "temperature": -0.1}, "'temperature' is a number"),
        ({"prompt": "a", "temperature": [1]}, "'temperature' is a number"),
        ({"prompt": "a", "top_p": 0}, "top"),
        ({"prompt": "a", "top_p": 1.1}, "'top_p' is a number from 0 to 1"),
        ({"prompt": "a", "min_p": 2}, "'min_p' is a number from 0 to 1"),
        ({"prompt": "a", "repetition_penalty": 0}, "penalty"),
        ({"prompt": "a", "n": 0}, "'n' is a whole number from 1"),
        ({"prompt": ["a"] * 40, "n": 40}, "40 x 40 texts"),
        ({"prompt": "a", "seed": -1}, "'seed' is a whole number"),
        ({"prompt": "a", "stop": ""}, "none empty"),
        ({"prompt": "a", "stop": [1]}, "'stop' is a string or a list"),
        ({"prompt": "a", "stop": ["b"] * 17}, "at most 16"),
        ({"prompt": "a", "stream": 1}, "'stream' is true or false"),
        ({"prompt": "a", "logprobs": 21}, "from 0 to 20"),
        ({"prompt": "a", "logprobs": 1, "echo": True, "stream": True}, "do not come as a"),
        ({"prompt": "a", "best_of": 2}, "'best_of' can only be 1"),
        ({"prompt": "a", "suffix": "b"}, "'suffix' can only be"),
        ({"prompt": "a", "presence_penalty": 0.5}, "can only be 0"),
        ({"prompt": "a", "logit_bias": {"1": 2}}, "can only be {}"),
        ({"prompt": "a", "max_token": 3}, "did you mean max_tokens?"),
    )

    def test_wrong_requests_are_told_what_is_wrong(self):
        for body, message in self.WRONG:
            with self.subTest(body=str(body)[:80]):
                status, text = self.server.ask("POST", "/v1/completions", body)
                self.assertIn(status, (400, 404), text)
                self.assertIn(message, json.loads(text)["error"]["message"])
        for body, message in (
            ({}, "'prompts' is a list"),
            ({"prompts": "a"}, "'prompts' is a list"),
            ({"prompts": [1]}, "'prompts' is a list of texts"),
            ({"prompts": ["a"] * 129}, "1 to 128 texts"),
            ({"prompts": ["a"], "tokens_to_generate": 0}, "'logprobs' should be true"),
            ({"prompts": ["a"], "top_k": 2, "top_p": 0.5}, "cannot both be set"),
            ({"prompts": ["a"], "beam_width": 2}, "no beam search"),
            ({"prompts": ["a"], "tokens_to_generate": 40}, "at most 32 can follow"),
        ):
            with self.subTest(body=str(body)[:80]):
                status, text = self.server.ask("PUT", "/api", body)
                self.assertEqual(status, 400, text)
                self.assertIn(message, json.loads(text)["error"]["message"])
        for path, body, message in (
            ("/tokenize", {}, "'prompt'"),
            ("/tokenize", {"prompt": 1}, "is a string"),
            ("/detokenize", {"tokens": "a"}, "list of whole numbers"),
            ("/detokenize", {"tokens": [9999]}, "9999"),
        ):
            status, text = self.server.ask("POST", path, body)
            self.assertEqual(status, 400, text)
            self.assertIn(message, json.loads(text)["error"]["message"])
        self.assertEqual(self.server.ask("GET", "/v1/completions")[0], 405)
        status, text = self.server.ask("GET", "/v2")
        self.assertEqual(status, 404)
        self.assertIn("PUT /api", text)
        # And it answers still.
        self.server.complete(prompt="a", max_tokens=1)

    def test_what_is_no_request_is_refused(self):
        for data, status in (
            (b"\x00\x01\x02 hello\r\n\r\n", b"400"),
            (b"GET /health HTTP/9.9\r\n\r\n", b"400"),
            (b"GET /health HTTP/1.1\r\nA: " + b"a" * 20000 + b"\r\n\r\n", b"431"),
            (b"POST /api HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n", b"413"),
            (b"POST /api HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", b"400"),
            (b"PUT /api HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        ):
            with self.subTest(data=data[:40]):
                got = self.server.raw(data)
                self.assertTrue(got.startswith(b"HTTP/1.1 " + status), got[:200])
        # A chunk's head, and what follows the last chunk, have no end.
        chunked = b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        for endless in (b"1;" + b"a" * 200_000, b"0\r\nA: " + b"a" * 200_000):
            got = self.server.raw(chunked + endless)
            self.assertTrue(got.startswith(b"HTTP/1.1 400 "), got[:200])
            self.assertIn(b"a chunk's head, or what follows the chunks", got)
        # Half a request, and none.
        self.assertEqual(self.server.raw(b"POST /api HTTP/1.1\r\nContent-Le", close=True), b"")
        self.assertEqual(self.server.raw(b"", close=True), b"")
        # Two on one connection, one behind the other.
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        for _ in range(2):
            self.assertEqual(self.server.ask("GET", "/health", connection=connection)[0], 200)
        connection.close()

    def test_heads_are_answered_before_bodies_are_sent(self):
        def head(first, **more):
            lines = [first, *(f"{name.replace('_', '-')}: {value}" for name, value in more.items())]
            return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()

        def completions(**more):
            return head("POST /v1/completions HTTP/1.1", Content_Length=1 << 25, **more)

        key = self.folder / "early"
        key.write_text(KEY + "\n")
        key.chmod(0o600)
        # So long that an answer which comes is not that of a request that is late.
        server = Server("--load", self.run_, "--key-file", key, "--receive-timeout", "100000")
        right, wrong = f"Bearer {KEY}", f"Bearer {KEY}x"
        try:
            for sent, status in (
                (completions(), 401),
                (completions(Authorization=wrong), 401),
                (completions(Authorization=wrong, Expect="100-continue"), 401),
                (completions(Authorization=right, Expect="a-miracle"), 417),
                (head("POST /v1/completion HTTP/1.1", Content_Length=9), 404),
                (head("PUT /v1/completions HTTP/1.1", Content_Length=9), 405),
                # It is open to everybody.
                (head("GET /health HTTP/1.1", Content_Length=1 << 25), 413),
                (head("GET /health HTTP/1.1", Transfer_Encoding="chunked"), 413),
            ):
                with self.subTest(sent):
                    got = server.raw(sent)
                    self.assertTrue(got.startswith(b"HTTP/1.1 %d " % status), got[:200])
                    self.assertIn(b"\r\nConnection: close\r\n", got)
                    self.assertEqual(b"\r\nAllow: POST\r\n" in got, status == 405, got)
                    self.assertEqual(got.count(b"HTTP/1.1"), 1)
            # Who sends on all the same is told, and not kept.
            status, text = server.ask("POST", "/v1/completions", {"prompt": "a" * 30_000_000})
            self.assertEqual((status, "the key is missing" in text), (401, True))
            # Without a body the connection lasts.
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
            for own, status in ((KEY + "x", 401), (KEY, 200)):
                self.assertEqual(
                    server.ask("GET", "/v1/models", key=own, connection=connection)[0], status
                )
                self.assertIsNotNone(connection.sock)
            connection.close()
            # Who asks is asked for the body.
            body = b'{"prompt": "to be"}'
            for expects in ("100-continue", "100-Continue"):
                sent = head("POST /tokenize HTTP/1.1", Content_Length=len(body), Connection="close",
                            Authorization=right, Expect=expects)  # fmt: skip
                with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as own:
                    own.sendall(sent)
                    go = b"HTTP/1.1 100 Continue\r\n\r\n"
                    self.assertEqual(own.recv(len(go), socket.MSG_WAITALL), go)
                    own.sendall(body)
                    self.assertTrue(own.recv(9999).startswith(b"HTTP/1.1 200 "))
            # HTTP/1.0 has no such thing.
            old = head("POST /tokenize HTTP/1.0", Content_Length=len(body), Authorization=right,
                       Expect="100-continue")  # fmt: skip
            self.assertTrue(server.raw(old + body).startswith(b"HTTP/1.1 200 "))
            done = hocket("ask", f"127.0.0.1:{server.port}", "--prompt", "a")
            self.assertEqual(done.returncode, 2)
            self.assertIn("the server refuses: the key is missing or wrong", done.stderr)
        finally:
            self.assertEqual(server.end(), 0)
        logged = [line for line in server.lines if line.startswith("POST /v1/completions 401 ")]
        self.assertGreaterEqual(len(logged), 4, server.lines)

    def test_heads_alone_and_the_older_protocol(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        for method, has_body in (("HEAD", False), ("GET", True)) * 2:
            connection.request(method, "/health")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read() != b""), (200, has_body))
            self.assertGreater(int(answer.getheader("Content-Length")), 0)
        connection.close()
        body = {"prompt": "to be", "max_tokens": 12, "temperature": 0}
        own = self.server.complete(**body)["choices"][0]["text"]
        body = json.dumps({**body, "stream": True}).encode()
        head = "POST /v1/completions HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n"
        got = self.server.raw(head.encode() % len(body) + body)
        head, _, parts = got.partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
        self.assertNotIn(b"chunked", head)
        *parts, done, rest = parts.decode().split("\n\n")
        self.assertEqual((done, rest), ("data: [DONE]", ""))
        told = [json.loads(part.removeprefix("data: "))["choices"][0]["text"] for part in parts]
        self.assertEqual("".join(told), own)

    def test_keys_limits_plans_and_the_end(self):
        key = self.folder / "key"
        key.write_text(KEY + "\n")
        key.chmod(0o600)
        server = Server("--load", self.run_, "--mesh", "tp=2", "--key-file", key,
                        "--model-name", "hamlet", "--max-texts", "3", "--max-body-bytes", "200",
                        "--max-connections", "8", "--receive-timeout", "0.5")  # fmt: skip
        try:
            self.assertEqual(server.ask("GET", "/health")[0], 200)
            for wrong in (None, "", KEY[:-1], KEY + "x"):
                self.assertEqual(server.ask("GET", "/v1/models", key=wrong)[0], 401)
            self.assertIn("hamlet", server.ask("GET", "/v1/models", key=KEY)[1])
            self.assertIn(b"413", server.raw(b"PUT /api HTTP/1.1\r\nContent-Length: 201\r\n\r\n"))
            body = {"prompt": ["a"] * 4, "max_tokens": 1}
            status, text = server.ask("POST", "/v1/completions", body, key=KEY)
            self.assertEqual(status, 429)
            self.assertIn("the server takes 3", text)
            # Two ranks write as one does.
            body = {"prompt": "to be", "max_tokens": 12, "temperature": 0}
            status, text = server.ask("POST", "/v1/completions", body, key=KEY)
            self.assertEqual(json.loads(text)["choices"][0]["text"],
                             self.generated("to be", "--tokens", 12, "--greedy")["text"])  # fmt: skip
            # Who is slow is told so; who has too many connections, too.
            late = server.raw(b"PUT /api HTTP/1.1\r\nContent-Le")
            self.assertIn(b"408", late)
            with contextlib.ExitStack() as held:
                for _ in range(8):
                    held.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                status, text = server.ask("GET", "/health")
                self.assertEqual((status, "8 connections" in text), (503, True))
        finally:
            status = server.end()
        self.assertEqual(status, 0, server.lines)

    def test_bodies_have_a_limit_together(self):
        """Of those that are being read; who is refused is told so, also while it sends."""
        server = Server("--load", self.run_, "--max-body-bytes", "3000000", "--max-bodies-bytes",
                        "4000000")  # fmt: skip
        head = b"POST /tokenize HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
        try:
            body = {"prompt": "a" * 2_000_000}
            with socket.create_connection(("127.0.0.1", server.port)) as held:
                held.sendall(head % 3_000_000 + b"a" * 2_500_000)
                self.wait_for(lambda: self.unread(held) == 0)
                status, text = server.ask("POST", "/tokenize", body)
                self.assertEqual(status, 503)
                self.assertIn("the requests that are being read have more than 4000000 bytes", text)
                # In chunks, whose number nobody knows before.
                chunks = iter([json.dumps(body).encode()])
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
                connection.request("POST", "/tokenize", chunks)
                self.assertEqual(connection.getresponse().status, 503)
                connection.close()
                self.assertEqual(server.say("/tokenize", {"prompt": "ab"})["count"], 2)
            # The server has yet to see that its client is gone.
            self.wait_for(lambda: server.ask("POST", "/tokenize", body)[0] == 200)
            # What is being written has no body any more.
            for _ in range(3):
                self.assertEqual(server.say("/tokenize", body)["count"], 2_000_000)
            status, text = server.ask("POST", "/tokenize", {"prompt": "a" * 20_000_000})
            self.assertEqual((status, "more than 3000000 bytes" in text), (413, True))
        finally:
            server.end()

    def unread(self, connection):
        """Bytes on their way to a server on this machine, as Linux tells them."""
        ends = {f"{end[1]:04X}" for end in (connection.getsockname(), connection.getpeername())}
        table = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
        lines = [line.split() for line in table]
        found = [line[4] for line in lines if {at[-4:] for at in line[1:3]} == ends]
        self.assertEqual(len(found), 2)
        return sum(int(part, 16) for queues in found for part in queues.split(":"))

    def wait_for(self, holds):
        until = time.monotonic() + SECONDS
        while not holds():
            self.assertLess(time.monotonic(), until)

    def test_ask_prints_what_the_server_writes(self):
        url = f"http://127.0.0.1:{self.server.port}"
        own = self.generated("to be", "--tokens", 14, "--seed", 3, "--top-k", 4)
        done = hocket("ask", url, "--prompt", "to be", "--tokens", 14, "--seed", 3, "--top-k", 4)
        self.assertEqual((done.returncode, done.stdout), (0, f"to be{own['text']}\n"))
        for arguments, status, message in (
            ((url, "--prompt", "a" * 40), 2, "the server refuses: the prompt has 40 tokens"),
            (("https://localhost", "--prompt", "a"), 2, "no address of a server"),
            (("127.0.0.1:x", "--prompt", "a"), 2, "no address of a server"),
            (("127.0.0.1:1", "--prompt", "a"), 1, "is the server running"),
            ((url,), 2, "give --prompt PROMPT"),
            ((url, "--prompt", "a", "--top-p", "0"), 2, "--top-p"),
        ):
            done = hocket("ask", *arguments)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(message, done.stderr)
        # Who is no server.
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]

            def answer():
                connection, _ = other.accept()
                connection.recv(1000)
                connection.sendall(b"220 smtp ready\r\n")
                connection.close()

            thread = threading.Thread(target=answer)
            thread.start()
            done = hocket("ask", f"127.0.0.1:{port}", "--prompt", "a")
            thread.join()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("does not answer as a server does", done.stderr)

    def test_ask_hears_who_refuses_before_all_is_sent(self):
        image = self.folder / "large.png"
        image.write_bytes(b"\x89PNG" + bytes(12_000_000))
        said = b'{"error": {"message": "no such key"}}'
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]

            def refuse():
                connection, _ = other.accept()
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" % (len(said), said))  # fmt: skip
                connection.close()  # What was not read resets the connection.

            thread = threading.Thread(target=refuse)
            thread.start()
            done = hocket("ask", f"127.0.0.1:{port}", "--chat", "--image", image, "--prompt", "a")
            thread.join()
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("the server refuses: no such key", done.stderr)

    def test_a_person_at_a_terminal(self):
        own = self.generated("to be", "--tokens", 6, "--greedy")["text"]
        line = own.splitlines()[0]
        writing = ("--tokens", 6, "--greedy")
        model = ("generate", "--load", self.run_, "--tokenizer", "byte", *writing)
        server = ("ask", f"127.0.0.1:{self.server.port}", *writing)
        for command in (model, server):
            with self.subTest(command=command[0]):
                status, shown = converse(*command, lines=["to be", "", "a" * 40, "to be"],
                                              ends=b"\x04")  # fmt: skip
                self.assertEqual(status, 0, shown)
                self.assertEqual(shown.count(line), 2, shown)
                self.assertIn("the prompt has 40 tokens", shown)
        # Typed ahead, before the terminal is the editor's.
        self.assertEqual(converse(*model, lines=["to be"], ends=b"\x04", waits=False)[0], 0)
        # A signal ends it as well.
        self.assertEqual(converse(*model, lines=["to be"], ends=b"\x03")[0], 0)

    def test_what_it_cannot_serve_is_said_at_once(self):
        public = self.folder / "public"
        public.write_text(KEY)
        public.chmod(0o644)
        short = self.folder / "short"
        short.write_text("abc\n")
        short.chmod(0o600)
        base = ("serve", "--load", self.run_, "--tokenizer", "byte")
        for arguments, message in (
            ((*base, "--key-file", public), "chmod 600"),
            ((*base, "--key-file", short), "at least 16 characters"),
            ((*base, "--key-file", self.folder / "none"), "none"),
            ((*base, "--port", "65536"), "--port"),
            ((*base, "--max-bodies-bytes", "9"), "--max-body-bytes is 67108864 and"),
            ((*base, "--host", "999.1.1.1"), "999.1.1.1"),
            (("serve", "--load", self.folder, "--tokenizer", "byte"), str(self.folder)),
        ):
            done = hocket(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        done = hocket(*base, "--port", str(self.server.port))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("in use", done.stderr)


if __name__ == "__main__":
    unittest.main()
