# Part of Hocket, under the Apache License v2.0.
"""report.md and report.json out of the sections."""

import collections
import json
import os
import time


def cell(value):
    if isinstance(value, float):
        value = f"{value:.4g}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join("| " + " | ".join(map(cell, line)) + " |\n" for line in lines)


def target_text(figure):
    if figure["target"] is None:
        return ""
    return f"{'at most' if figure['at_most'] else 'at least'} {figure['target']}"


def reached_text(figure):
    return {True: "reached", False: "**missed**", None: ""}[figure["reached"]]


def figure_table(figures):
    rows = [
        [f["what"], f"{f['value']:.4g} {f['unit']}".strip(), target_text(f),
         reached_text(f)]
        for f in figures
    ]  # fmt: skip
    return table(["figure", "measured", "target", ""], rows)


def has_failures(results):
    return any(section["status"] == "failed" for section in results)


def summary(results):
    counts = collections.Counter(section["status"] for section in results)
    figures = [f for section in results for f in section["figures"]]
    missed = sum(f["reached"] is False for f in figures)
    text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{text}; {missed} of {sum(f['reached'] is not None for f in figures)} targets missed"


def section_text(section):
    text = f"## {section['name']}\n\n{section['status']}"
    text += f": {section['why']}\n\n" if section["why"] else "\n\n"
    if section["figures"]:
        text += figure_table(section["figures"]) + "\n"
    if section["rows"]:
        text += table(section["columns"], section["rows"]) + "\n"
    return text


def markdown(results, date):
    rows = [[s["name"], s["status"], s["seconds"], s["why"]] for s in results]
    text = f"# Hocket on a GPU\n\n{date}: {summary(results)}.\n\n"
    text += table(["section", "", "seconds", ""], rows) + "\n"
    return text + "".join(section_text(section) for section in results)


def write(results, out):
    date = time.strftime("%Y-%m-%d %H:%M")
    document = {"version": 1, "date": date, "sections": results}
    for name, text in (
        ("report.md", markdown(results, date)),
        ("report.json", json.dumps(document, indent=1) + "\n"),
    ):
        # Whole, even if this is ended in the middle of it.
        part = out / f".{name}.part"
        part.write_text(text)
        os.replace(part, out / name)
