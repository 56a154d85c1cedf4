# Part of Hocket, under the Apache License v2.0.
"""Rules about the documents."""

import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def generated_are_current(tree):
    """docs/generated is what `make docs` writes."""
    command = [sys.executable, tree.root / "docs/generate.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        yield (done.stdout + done.stderr).strip()


def links_lead_somewhere(tree):
    """Every link between documents leads to a file."""
    readme = (tree.root / "README.md").relative_to(tree.root)
    for path in [readme, *tree.with_suffix(".md")]:
        if not (tree.root / path).exists():
            yield f"{path}: missing"
            continue
        for target in LINK.findall(tree.text(path)):
            outside = "://" in target or target.startswith("mailto:")
            if not outside and not (tree.root / path.parent / target).exists():
                yield f"{path}: links to {target}, which does not exist"
