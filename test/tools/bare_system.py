# Part of Hocket, under the Apache License v2.0.
"""A folder that holds what a bare Debian system would after `apt install`.

It has the files of the essential packages and of everything that the package
depends on, as they are installed here, and nothing else: what runs in it needs
nothing that its dependencies do not say.
"""

import os
import pathlib
import re
import shutil
import subprocess

FIELDS = ("Package", "Provides", "Essential", "Pre-Depends", "Depends")


def dpkg(*arguments):
    return subprocess.run(
        list(map(str, arguments)), capture_output=True, text=True, check=True
    ).stdout


def names(dependencies):
    """`a (>= 1) | b:any, c` as [[a, b], [c]]."""
    for group in filter(None, map(str.strip, dependencies.split(","))):
        yield [re.split(r"[ (:]", name.strip())[0] for name in group.split("|")]


class Installed:
    """The packages of this machine."""

    def __init__(self):
        shown = "".join(f"${{{field}}}\\t" for field in FIELDS)
        self.packages, self.provided = {}, {}
        for line in dpkg("dpkg-query", "-W", "-f", f"{shown}\\n").splitlines():
            package = dict(zip(FIELDS, line.split("\t")))
            self.packages[package["Package"]] = package
            for (name, *_) in names(package["Provides"]):
                self.provided.setdefault(name, package["Package"])

    def find(self, name):
        return name if name in self.packages else self.provided.get(name)

    def closure(self, dependencies):
        """The names of all packages that a bare system has then."""
        found = set()
        open_names = [
            name for name, p in self.packages.items() if p["Essential"] == "yes"
        ]

        def add(text):
            for group in names(text):
                here = next(filter(None, map(self.find, group)), None)
                if here is None:
                    raise LookupError(f"none of {group} is installed here")
                open_names.append(here)

        add(dependencies)
        while open_names:
            name = open_names.pop()
            if name not in found:
                found.add(name)
                for field in ("Pre-Depends", "Depends"):
                    add(self.packages[name][field])
        return found


def make(root, package):
    """Fills the folder `root` for the file `package`, a .deb."""
    root = pathlib.Path(root)
    for folder in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    for folder in ("tmp", "proc", "dev", "etc"):
        (root / folder).mkdir()
    closure = Installed().closure(dpkg("dpkg-deb", "-f", package, "Depends"))
    for line in dpkg("dpkg-query", "-L", *sorted(closure)).splitlines():
        there, here = pathlib.Path(line), root / line.lstrip("/")
        # Documentation may have been left out here, too.
        if not line.startswith("/") or line.startswith(("/usr/share", "/.")):
            continue
        if there.is_dir() and not there.is_symlink():
            here.mkdir(parents=True, exist_ok=True)
        elif (there.exists() or there.is_symlink()) and not os.path.lexists(here):
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(there, here, follow_symlinks=False)
    dpkg("dpkg-deb", "-x", package, root)


def inside(root, *command):
    """Runs `command` in `root`; nothing of the system outside is seen."""
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "--pid", "--fork",
         f"--root={root}", "--mount-proc", "--wd=/tmp", *map(str, command)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/usr/sbin", "LC_ALL": "C"},
    )  # fmt: skip


def why_not():
    """Why no such folder can be made or entered here; empty if it can."""
    for program in ("dpkg-query", "dpkg-shlibdeps", "unshare"):
        if not shutil.which(program):
            return f"no {program}"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "--pid", "--fork",
         "--root=/", "--mount-proc", "true"], capture_output=True, text=True,
    )  # fmt: skip
    return f"no system of its own: {done.stderr.strip()}" if done.returncode else ""
