# Part of Hocket, under the Apache License v2.0.
"""Drives a browser over a pipe: Chrome's DevTools protocol, standard library
alone (chromedevtools.github.io/devtools-protocol)."""

import base64
import json
import os
import pathlib
import select
import subprocess
import tempfile
import time

from browser import PROGRAM

# The protocol's own pipe: the browser reads from 3 and writes to 4.
PIPE = "--remote-debugging-pipe"


class Browser:
    """A browser without a screen, with one page at a time."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory()
        browser_in, self.out = os.pipe()
        self.into, browser_out = os.pipe()
        command = [
            PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--user-data-dir={self.profile.name}", PIPE,
            "--host-resolver-rules=MAP * ~NOTFOUND",
        ]  # fmt: skip

        # Both are moved out of the way first: either may be 3 or 4 already.
        shell = 'exec "$0" "$@" 3<&"$FROM" 4>&"$TO"'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, *command],
            env={**os.environ, "FROM": str(self._spare(browser_in)),
                 "TO": str(self._spare(browser_out))},
            pass_fds=self.spares, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (browser_in, browser_out, *self.spares):
            os.close(end)
        self.number, self.rest, self.events = 0, b"", []
        return self

    def __exit__(self, *_):
        try:
            self.process.terminate()
            self.process.wait(30)
        finally:
            os.close(self.out)
            os.close(self.into)
            self.profile.cleanup()

    spares = ()

    def _spare(self, end):
        """A single digit: sh knows no other descriptors."""
        for number in range(5, 10):
            try:
                os.fstat(number)
            except OSError:
                os.dup2(end, number)
                self.spares += (number,)
                return number
        raise OSError("no descriptor from 5 to 9 is free")

    def _message(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.into], [], [], max(0, deadline - time.monotonic()))
            more = os.read(self.into, 1 << 16) if ready else b""
            if not more:
                raise TimeoutError("the browser says nothing")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, seconds=120, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event, seconds=120):
        deadline = time.monotonic() + seconds
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self._message(deadline))

    def open(self, page, width, dark=False, height=900):
        """A page of this width; the answer is its session."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        session = attached["sessionId"]
        self.events.clear()
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        self.call("Emulation.setDeviceMetricsOverride", session, width=width,
                  height=height, deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        self.call("Page.navigate", session, url=pathlib.Path(page).absolute().as_uri())
        self.wait_for("Page.loadEventFired")
        self.target = target
        return session

    def close(self):
        self.call("Target.closeTarget", targetId=self.target)

    def evaluate(self, session, expression):
        """The value of an expression, as JSON has it."""
        answer = self.call("Runtime.evaluate", session, expression=expression,
                           returnByValue=True, awaitPromise=True)  # fmt: skip
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def complaints(self):
        """What was said on the console, and what was thrown."""
        said = []
        for event in self.events:
            if event.get("method") in (
                "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded",
            ):  # fmt: skip
                said.append(json.dumps(event["params"])[:1000])
        return said

    def screenshot(self, session, path):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics", session)["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"],
                "height": min(size["height"], 8000), "scale": 1}  # fmt: skip
        shot = self.call("Page.captureScreenshot", session, clip=clip,
                         captureBeyondViewport=True)  # fmt: skip
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
