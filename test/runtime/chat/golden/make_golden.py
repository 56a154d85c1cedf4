#!/usr/bin/env python3
# Part of Hocket, under the Apache License v2.0.
"""Writes golden.json: what transformers makes of conversations.json by each template
of templates/, with and without the prompt for an answer, and the characters that
{% generation %} blocks made. Needs transformers, which the test that reads it does
not: python3 make_golden.py
"""

import json
import pathlib

import transformers
from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).resolve().parent
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def render(template, conversation, prompts):
    """Text and generated ranges, in characters; None where the template refuses."""
    try:
        texts, ranges = render_jinja_template(
            conversations=[conversation],
            chat_template=template,
            add_generation_prompt=prompts,
            return_assistant_tokens_mask=not prompts and "generation %}" in template,
            tools=None,
            documents=None,
            **TOKENS,
        )
    except Exception as error:  # noqa: BLE001: jinja2's, and what Python says of values
        return {"error": type(error).__name__}
    return {"text": texts[0], "generated": [list(each) for each in (ranges or [[]])[0]]}


def main():
    conversations = json.loads((HERE / "conversations.json").read_text())
    golden = {}
    for path in sorted((HERE.parent / "templates").glob("*.jinja")):
        template = path.read_text()
        golden[path.name] = [
            {str(prompts): render(template, conversation, prompts) for prompts in (False, True)}
            for conversation in conversations
        ]
    print(f"transformers {transformers.__version__}")
    (HERE / "golden.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    main()
