# Part of Hocket, under the Apache License v2.0.
"""`hocket serve` as a process, and a client of it."""

import contextlib
import http.client
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time

from programs import BUILD

SECONDS = 60


class Server:
    """A server as a process of its own, and a client."""

    def __init__(self, *arguments, tokenizer="byte"):
        self.process = subprocess.Popen(
            [BUILD / "bin/hocket", "serve", *arguments, "--tokenizer", tokenizer, "--port", "0"],
            stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.lines = []
        self.port = None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                break
        assert self.port, "".join(self.lines)

    def end(self):
        """The exit status, once a signal has asked it to end."""
        self.process.send_signal(signal.SIGINT)
        self.lines += self.process.communicate(timeout=SECONDS)[1].splitlines(keepends=True)
        return self.process.returncode

    def ask(self, method, path, body=None, key=None, connection=None):
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        if isinstance(body, dict):
            body = json.dumps(body)
        own.request(method, path, body, {"Authorization": f"Bearer {key}"} if key else {})
        answer = own.getresponse()
        text = answer.read().decode()
        if not connection:
            own.close()
        return answer.status, text

    def say(self, path, body=None, method="POST"):
        status, text = self.ask(method, path, body)
        assert status == 200, text
        return json.loads(text)

    def complete(self, **body):
        return self.say("/v1/completions", body)

    def chat(self, *messages, **body):
        """The answer to messages, which are texts of a user or whole."""
        whole = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
        return self.say("/v1/chat/completions", {"messages": whole, **body})

    def parts(self, path, body):
        """The JSON of each part of a stream."""
        status, text = self.ask("POST", path, {**body, "stream": True})
        assert status == 200, text
        parts = text.split("\n\n")
        assert parts[-2:] == ["data: [DONE]", ""], parts[-2:]
        return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]

    def stream(self, path, body):
        """The text that the parts of a stream say, and why it ends."""
        text, reason = "", None
        for part in self.parts(path, body):
            choice = part["choices"][0]
            text += choice.get("text", choice.get("delta", {}).get("content", ""))
            reason = choice["finish_reason"] or reason
        return text, reason

    def raw(self, data, close=False):
        """What comes back for these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            connection.sendall(data)
            if close:
                connection.shutdown(socket.SHUT_WR)
            got = b""
            with contextlib.suppress(ConnectionResetError):
                while part := connection.recv(65536):
                    got += part
            return got


def converse(*arguments, lines, ends, waits=True):
    """The status of a command and what a terminal shows of it, whose person types
    `lines`, each when it is asked for, or all at once."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ["TERM"] = "dumb"
        os.execv(BUILD / "bin/hocket", ["hocket", *map(str, arguments)])
    shown = b""
    until = time.monotonic() + SECONDS

    def wait_for(prompts):
        nonlocal shown
        while waits and shown.count(b"> ") < prompts:
            assert select.select([terminal], [], [], until - time.monotonic())[0], shown
            shown += os.read(terminal, 4096)

    for number, line in enumerate(lines):
        wait_for(number + 1)
        os.write(terminal, line.encode() + b"\n")
    wait_for(len(lines) + 1)
    os.write(terminal, ends)
    with contextlib.suppress(OSError):  # The other end is closed.
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), shown.decode(errors="replace")
