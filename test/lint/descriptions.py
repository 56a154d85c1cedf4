# Part of Hocket, under the Apache License v2.0.
"""Every dialect, op and pass says what it is, and every pass is tested."""

import re

EXAMPLE = "```mlir"


def dialects_have_a_rationale(tree):
    """Every dialect has a README with its rationale."""
    for name, _ in tree.dialects:
        readme = tree.root / "dialects" / name / "README.md"
        if not readme.exists():
            yield f"dialects/{name}: expected a README.md"


def ops_are_described(tree):
    """Every op has a summary, a description and an example."""
    for dialect, td in tree.dialects:
        for op in tree.instances(td, "Op"):
            name = f"{td}: {dialect}.{op['opName']}"
            if not op["summary"].strip():
                yield f"{name} has no summary"
            description = op["description"]
            if len(description.split(EXAMPLE)[0].split()) < 4:
                yield f"{name} has no description"
            example = description.partition(EXAMPLE)[2].partition("```")[0]
            if f"{dialect}.{op['opName']}" not in example:
                yield f"{name} has no example of itself between {EXAMPLE} and ```"


def passes(tree):
    for td in tree.pass_files:
        for record in tree.instances(td, "PassBase"):
            yield td, record


def passes_are_described(tree):
    """Every pass has a summary and a description, and so has each option."""
    for td, record in passes(tree):
        name = f"{td}: {record['argument']}"
        if not record["summary"].strip():
            yield f"{name} has no summary"
        if len(record["description"].split()) < 8:
            yield f"{name} has no description"
        for option in record["options"]:
            fields = tree.records(td)[option["def"]]
            if not fields["description"].strip():
                yield f"{name}: its option {fields['argument']} has no description"


def tests_of(tree, argument, level):
    """IR tests named for a pass, or for it without its level in front."""
    short = re.sub(rf"^(hocket-|convert-)?({level}-)?", "", argument)
    for path in tree.with_suffix(".mlir"):
        named = re.fullmatch(rf"({argument}|{short})(-.+)?", path.stem)
        if named and path.parts[:2] == ("test", "passes"):
            yield path


def passes_are_tested(tree):
    """Every pass has the IR test of its name, which runs it."""
    for td, record in passes(tree):
        argument = record["argument"]
        found = list(tests_of(tree, argument, td.parent.name))
        if not found:
            yield f"{td}: {argument} has no test test/{td.parent}/{argument}.mlir"
        elif not any(f"-{argument}" in tree.text(path) for path in found):
            yield f"{found[0]}: does not run {argument}"
