# Part of Hocket, under the Apache License v2.0.
"""Reads the subset of textproto that specs are written in.

A message becomes a dict, a repeated field a list, an enum its name as a str.
This reader shares nothing with the compiler's, so that a golden file does not
inherit the compiler's mistakes; it knows no schema and refuses nothing.
"""

import re

TOKEN = re.compile(
    r'\s+|#[^\n]*|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z_]\w*)'
    r"|(?P<number>[-+]?[0-9.][\w.+-]*)|(?P<mark>[{}:\[\],;])"
)


def tokens(source):
    position = 0
    while position < len(source):
        match = TOKEN.match(source, position)
        if not match:
            raise ValueError(f"unexpected {source[position]!r} at {position}")
        position = match.end()
        if match.lastgroup:
            yield match.lastgroup, match.group(match.lastgroup)


def scalar(kind, text):
    if kind == "text":
        return text[1:-1]
    if kind == "word":
        return {"true": True, "false": False}.get(text, text)
    try:
        return int(text)
    except ValueError:
        return float(text)


def add(message, name, value):
    if name not in message:
        message[name] = value
    elif isinstance(message[name], list):
        message[name].append(value)
    else:
        message[name] = [message[name], value]


def message(stream):
    """The fields up to the closing brace, or to the end of the text."""
    result = {}
    for kind, text in stream:
        if text in (",", ";"):
            continue
        if text == "}":
            break
        name = text
        kind, text = next(stream)
        if text == ":":
            kind, text = next(stream)
        add(result, name, message(stream) if text == "{" else scalar(kind, text))
    return result


def read(path):
    with open(path, encoding="utf-8") as file:
        return message(tokens(file.read()))
