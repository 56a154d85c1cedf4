# Part of Hocket, under the Apache License v2.0.
"""Opens a page in a real browser without a screen."""

import html
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
MISSING = f"no browser here to open the page: none of {', '.join(NAMES)}"


def opened_with(page, script):
    """Opens a copy of the page with a script at its end. Returns what that left
    as JSON in the element "seen", and what anything said on the console."""
    copy = pathlib.Path(page).with_suffix(".opened.html")
    text = pathlib.Path(page).read_text()
    added = f"<script>{pathlib.Path(script).read_text()}</script>"
    copy.write_text(text.replace("</body>", added + "</body>"))
    with tempfile.TemporaryDirectory() as profile:
        command = [
            PROGRAM, "--headless", "--no-sandbox", "--disable-gpu",
            f"--user-data-dir={profile}", "--window-size=1300,2000",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
            "--virtual-time-budget=2000", "--dump-dom", copy.as_uri(),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=True
        )
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    seen = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
    return json.loads(html.unescape(seen[1])) if seen else None, console
