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


def passes_are_tested(tree):
    """Every pass has the IR test of its name.

    The test is test/passes/<folder>/<name>.mlir, where the name is the pass's
    or the pass's without its level in front; it must run the pass.
    """
    for td, record in passes(tree):
        argument, folder = record["argument"], td.parent
        short = re.sub(rf"^(hocket-)?({folder.name}-)?", "", argument)
        candidates = [
            tree.root / "test" / folder / f"{name}.mlir"
            for name in dict.fromkeys((argument, short))
        ]
        if folder.parts[:2] == ("passes", "conversion"):
            candidates += (tree.root / "test" / folder).glob(f"*/{argument}.mlir")
        found = [path for path in candidates if path.exists()]
        if not found:
            yield f"{td}: {argument} has no test {candidates[0].name} in test/{folder}"
        for path in found:
            if argument not in tree.text(path.relative_to(tree.root)):
                yield f"{path.relative_to(tree.root)}: does not run {argument}"
