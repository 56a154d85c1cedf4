# Part of Hocket, under the Apache License v2.0.
"""Times `hocket memory solve` on files, and on instances made here.

    memory_instances.py [--build BUILD] [--seconds S] [--seeds N] [FILE.CAPACITY.csv ...]

Made instances fit in 1 MiB by construction, most of them without a byte to
spare: `allocator` keeps an address space filled for a while, `cuts` is a full
rectangle of bytes and time cut at random. Prints processor seconds of the whole
command, peak over capacity, and whether the plan fits.
"""

import argparse
import pathlib
import random
import re
import resource
import subprocess
import tempfile

CAPACITY = 1 << 20
UNIT = 1024


def blocks(rng, offset, size, time, count):
    marks = sorted(rng.sample(range(1, size), min(count, size) - 1)) if size > 1 else []
    marks = [0, *marks, size]
    return [(offset + a, b - a, time) for a, b in zip(marks, marks[1:])]


def allocator(rng, count, keep, most_live):
    """Frees a few neighbours at a time and fills the hole again, mostly."""
    top = CAPACITY // UNIT
    live, rows, time = blocks(rng, 0, top, 0, rng.randint(6, most_live)), [], 0
    while len(rows) + len(live) < count:
        time += rng.randint(1, 2000)
        live.sort()
        first = rng.randrange(len(live))
        last = min(len(live), first + rng.choice([1, 1, 2, 2, 3, 4]))
        start = live[first][0]
        rows += [(born, time, size) for _, size, born in live[first:last]]
        del live[first:last]
        end = min([o for o, _, _ in live if o >= start], default=top)
        begin = max([o + s for o, s, _ in live if o + s <= start], default=0)
        size = end - begin
        used = size if rng.random() < keep else rng.randint(max(1, size // 3), size)
        parts = rng.choice([1, 1, 2, 2, 3, 4]) if len(live) < most_live else 1
        live += blocks(rng, begin, used, time, parts)
    return rows + [(born, time + 1000, size) for _, size, born in live]


def cuts(rng, count, dropped):
    """Cuts a large block again and again; leaves some out."""
    span, top = 1_000_000, CAPACITY // UNIT
    parts = [(0, span, 0, top)]
    while len(parts) < count:
        parts.sort(key=lambda p: -(p[1] - p[0]) * (p[3] - p[2]) * rng.uniform(0.2, 1))
        a, b, c, d = parts.pop(0)
        if (rng.random() < 0.5 and b - a > 2000) or d - c < 2:
            middle = rng.randint(a + 1, b - 1)
            parts += [(a, middle, c, d), (middle, b, c, d)]
        else:
            middle = rng.randint(c + 1, d - 1)
            parts += [(a, b, c, middle), (a, b, middle, d)]
    return [(a, b, d - c) for a, b, c, d in parts if rng.random() >= dropped]


def instances(seeds):
    for seed in range(seeds):
        count = [150, 200, 250, 300][seed % 4]
        keep = [1, 0.95, 0.9][seed % 3]
        for name, rows in (
            ("allocator", allocator(random.Random(seed), count, keep, 40)),
            ("crowded", allocator(random.Random(seed), count, keep, 90)),
            ("cuts", cuts(random.Random(seed), count, [0, 0.03][seed % 2])),
        ):
            random.Random(seed).shuffle(rows)
            lines = [f"{i},{a},{b},{s * UNIT}" for i, (a, b, s) in enumerate(rows)]
            yield f"{name}-{seed}", "id,lower,upper,size\n" + "\n".join(lines) + "\n"


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(hocket, name, path, capacity, seconds):
    start = processor_seconds()
    command = [hocket, "memory", "solve", path, "--capacity", capacity]
    command += ["--seconds", seconds]
    result = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    peak = int(re.search(r"peak +(\d+)", result.stdout).group(1))
    rows = len(path.read_text().splitlines()) - 1
    fits = "yes" if result.returncode == 0 else "no"
    spent = processor_seconds() - start
    print(f"| {name} | {rows} | {spent:.2f} | {peak / capacity:.3f} | {fits} |", flush=True)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default="build")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    hocket = arguments.build / "bin/hocket"
    print("| instance | buffers | processor seconds | peak / capacity | fits |")
    print("|---|---|---|---|---|")
    done = []
    for path in arguments.files:
        capacity = int(path.stem.split(".")[-1])
        done.append(measure(hocket, path.stem, path, capacity, arguments.seconds))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in instances(arguments.seeds):
            path = pathlib.Path(folder) / f"{name}.csv"
            path.write_text(text)
            done.append(measure(hocket, name, path, CAPACITY, arguments.seconds))
    print(f"\n{sum(done)} of {len(done)} fit.")


if __name__ == "__main__":
    main()
