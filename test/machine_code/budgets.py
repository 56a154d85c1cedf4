# Part of Hocket, under the Apache License v2.0.
"""Budgets of kernels and what they are compared with.

A kernel of kernels/cuda has its own above it, where docs/codegen.md ("Budgets of
machine code") says how it is written. Fused kernels share the rows of
compiler/targets/cuda/budget.txt: what a kernel may take follows from its text.
"""

import re
from collections import Counter
from dataclasses import dataclass

from machine_code import sass
from programs import ROOT

BYTES = {"float": 4, "int": 4, "bf16": 2, "f16": 2, "e4m3": 1, "e5m2": 1,
         "unsigned char": 1, "unsigned short": 2, "unsigned": 4, "Integer": 8}  # fmt: skip
RULE = "compiler/targets/cuda/budget.txt"
ACCESS = 16  # bytes
INSTRUCTIONS, REGISTERS = "instructions", "registers"
SPILLED, STACK = "bytes spilled", "bytes of stack"
ACCESSES = ("loads", "stores", "shared")
FIGURE = re.compile(
    r"([\d.]+) (registers|instructions|loads?|stores?|shared"
    r"|bytes spilled|bytes of stack|of \d+ registers)"
)
COMMENTED = re.compile(r"((?:^///[^\n]*\n)+)([^(;{]*?)\b(\w+)\(", re.M)
SENTENCE = re.compile(r"\b(Budget(?: of ([^:]*))?|Over): (.*?)(?=\. Budget|\. Over:|\.$)")
UNIT = re.compile(r"an? (iteration|thread)(?: of (\d+) (bytes|elements))?:")


class Wrong(ValueError):
    """A budget that cannot be read."""


@dataclass
class Budget:
    """What a kernel may take; `over` is what it takes today beyond that, and why."""

    where: str
    facts: frozenset  # of kernels that it is for: types, a head's width, dropout
    is_of_iteration: bool
    elements: float  # of an iteration or a thread; 0: as many of its type as `bytes`
    bytes: int
    figures: dict
    over: dict  # {what: (how much, why)}

    @property
    def is_own(self):
        """Of a kernel of kernels/cuda, not by the rule of fused ones."""
        return self.where != RULE

    def elements_of(self, kernel):
        return self.elements or self.bytes / BYTES[kernel.shape.get("T", kernel.types[0])]


@dataclass(frozen=True)
class Finding:
    """A figure of a kernel for an architecture beside its budget."""

    source: Budget
    kernel: str
    arch: str
    what: str
    figure: float
    budget: float
    over: float | None
    reason: str

    @property
    def is_wrong(self):
        return self.figure > (self.budget if self.over is None else self.over)

    @property
    def is_exception(self):
        return self.figure > self.budget and not self.is_wrong

    def __str__(self):
        text = f"{self.kernel}, {self.arch}: {self.figure:g} {self.what}, "
        if self.over is None:
            return text + f"the budget is {self.budget:g}"
        return text + f"over: {self.over:g} (was to be {self.budget:g}): {self.reason}"


#===------------------------------------------------------------------------===#
# Of kernels in kernels/cuda
#===------------------------------------------------------------------------===#


def figures_in(text):
    found = {}
    for number, name in FIGURE.findall(text):
        name = {"load": "loads", "store": "stores"}.get(name, name)
        found[name] = float(number)
    return found


def budgets_in(header, name):
    """{function: its budgets} of a header's text."""
    found = {}
    for comment, _, function in COMMENTED.findall(header):
        text = " ".join(line[3:].strip() for line in comment.splitlines())
        for keyword, facts, said in SENTENCE.findall(text):
            where = f"{name}, {function}"
            if keyword == "Over":
                if function not in found:
                    raise Wrong(f"{where}: 'Over' stands before any budget")
                numbers, _, reason = said.partition(": ")
                found[function][-1].over = {
                    what: (limit, reason) for what, limit in figures_in(numbers).items()
                }
                continue
            unit = UNIT.search(said)
            if not unit:
                raise Wrong(f"{where}: a budget says 'an iteration:' or 'a thread of 8 elements:'")
            count, is_bytes = int(unit[2] or 1), unit[3] == "bytes"
            found.setdefault(function, []).append(Budget(
                where, frozenset(facts.replace(",", " ").split()), unit[1] == "iteration",
                0 if is_bytes else count, count if is_bytes else 0, figures_in(said), {},
            ))  # fmt: skip
    return found


def library_budgets():
    found = {}
    for path in sorted((ROOT / "kernels/cuda").glob("*.cuh")):
        found |= budgets_in(path.read_text(), path.name)
    return found


def facts_of(kernel):
    shape = kernel.shape
    facts = {word for types in kernel.types for word in types.split() if "$" not in types}
    if shape:
        facts |= {shape["T"], shape["dim"]}
        facts |= {"dropout"} if shape["dropoutThreshold"] != "0u" else set()
        facts |= {"documents"} if shape.get("documents") == "true" else set()
        facts |= {"softcap"} if kernel.is_capped else set()
        facts |= {"relative"} if shape.get("biased") == "true" else set()
        facts |= {"alibi"} if shape.get("alibi") == "true" else set()
    return facts


def budget_of(kernel, budgets):
    """The one with the most facts of those that the kernel has all of."""
    facts = facts_of(kernel)
    fitting = [b for b in budgets.get(kernel.function, ()) if b.facts <= facts]
    if not fitting:
        raise Wrong(f"{kernel.function}<{', '.join(sorted(facts))}> has no budget: write "
                    "one above it in kernels/cuda (docs/codegen.md says how)")  # fmt: skip
    return max(fitting, key=lambda b: len(b.facts))


def library_figures(kernel, machine, budget):
    """What is compared with a budget."""
    code = sass.iteration(machine.code, machine.arch) if budget.is_of_iteration else machine.code
    counts = sass.counts(code)
    figures = {
        f"of {granted} registers": used
        for granted, used in sass.registers_by_role(machine.code, machine.arch).items()
    }
    elements = budget.elements_of(kernel)
    figures |= {name: counts[name] for name in ACCESSES}
    figures[INSTRUCTIONS] = counts[INSTRUCTIONS] / elements
    return figures | own_figures(machine)


def own_figures(machine):
    return {REGISTERS: machine.registers, SPILLED: machine.spills, STACK: machine.stack}


def compare(name, arch, figures, budget):
    for what, figure in figures.items():
        over, reason = budget.over.get(what, (None, ""))
        allowed = budget.figures.get(what, 0)
        yield Finding(budget, name, arch, what, figure, allowed, over, reason)


#===------------------------------------------------------------------------===#
# Of fused kernels
#===------------------------------------------------------------------------===#

LOOP = re.compile(r"for \(int \w = 0; \w < (\d+)")
UNROLLED = re.compile(r"#pragma unroll (\d+)")
LOAD = re.compile(r"load(Aligned|Singly)?<(\d+)>\(((?:in|out)\d+)")
STORE = re.compile(r"store(Whole)?\((out\d+)")
RESULT = re.compile(r"Pack<\w+, (\d+)> result|float result\d+\[(\d+)\]")
VALUE = re.compile(r"const (?:float|bool|int) ([a-z]+)\d+ = ")
SUMS = re.compile(r"float sums\d+\[(\d+)\]\[(\d+)\]")
JOINED = re.compile(r"joinRows<\d+, (\d+)>")
PARTIAL = re.compile(r"Pack<float, (\d+)> partials\[\d+\]\[(\d+)\]")
ADDED = re.compile(r"addParts<(\d+)>")
HELD = re.compile(r"Pack<(\w+), (\d+)> held\d+\[(\d+)\]")
KEPT = re.compile(r"float kept\d+\[(\d+)\]\[(\d+)\]")
ROW = re.compile(r"^(\w[\w -]*?)\s+([\d.]+)(?:\s+over ([\d.]+): (.*))?$")
COSTLY = {"divf": "division", "sqrt": "root", "exp": "exponential", "expm": "exponential",
          "log": "exponential", "powf": "power", "tanh": "tanh", "erf": "tanh"}  # fmt: skip


def fused_rows():
    """{what: (its budget, what it takes today or None, why)} of budget.txt."""
    path, found = ROOT / RULE, {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            row = ROW.match(line)
            if not row:
                raise Wrong(f"{path.name}:{number}: expected 'WHAT N' or 'WHAT N over N: why'")
            over = None if row[3] is None else float(row[3])
            found[row[1]] = (float(row[2]), over, row[4])
    return found


def content_of(text):
    """How much there is of each row of budget.txt in the text of a fused kernel, and
    of its accesses (of ACCESS bytes at most) and their elements."""
    types = {name: type_ for type_, name in re.findall(r"(\w+) \*((?:in|out)\d+)", text)}
    found, times, copies = Counter({"thread": 1, "register": 1}), [1], 1

    def access(kind, buffer, width, how=""):
        if how == "Singly":
            found[kind] += times[-1] * width
            return
        found[kind] += times[-1] * -(-width * BYTES[types[buffer]] // ACCESS)
        has_narrow = width > 1 and not how
        found[f"narrow {kind}"] += times[-1] * width * has_narrow

    width = next((int(a or b) for a, b in RESULT.findall(text)), 1)
    partial, parts = next(
        ((int(n) * 4 // ACCESS, int(parts)) for n, parts in PARTIAL.findall(text)), (0, 0)
    )
    steps, summed = map(int, next(iter(SUMS.findall(text)), (0, width)))
    for line in map(str.strip, text.splitlines()):
        if line.startswith("}"):
            times = times[:-1] or [1]
        if line.endswith("{"):
            loop = LOOP.match(line)
            times.append(times[-1] * (int(loop[1]) if loop else copies))
        # A loop that is unrolled in part has its body once more, for the rest.
        unrolled = UNROLLED.match(line)
        copies = int(unrolled[1]) + 1 if unrolled and int(unrolled[1]) > 1 else 1
        for how, elements, buffer in LOAD.findall(line):
            access("loads", buffer, int(elements), how)
        for how, buffer in STORE.findall(line):
            access("stores", buffer, width, how)
        # Sums of a part of the rows, left for the block that is done last.
        found["stores"] += line.count("isLast(") + line.count("= packOf<") * partial
        # Sums of rows: of a thread, joined with those of the block's other rows, and of
        # parts, of which eight are read at a time.
        in_memory = len(re.findall(r"^sums\d+\[column", line))
        found["loads"] += times[-1] * in_memory
        found["stores"] += times[-1] * in_memory
        for rows in map(int, JOINED.findall(line)):
            found["operation"] += 3 * (rows - 1) * steps * summed
        # The last of these loops is there twice: for what is added, and without.
        found["stores"] += 2 * times[-1] * len(re.findall(r"^out\d+\[column", line))
        found["stores"] += line.count("storeSums<") * steps * partial
        found["stores"] += line.count("sumParts<") * partial
        added = line.count("sumParts<") + 2 * line.count("sumOfParts(")
        found["loads"] += 8 * added * partial
        found["operation"] += 2 * 8 * added * summed
        # Rounds of all groups, in a loop that is unrolled four times, and the rest.
        for groups in map(int, ADDED.findall(line)):
            found["loads"] += (min(parts // groups, 4) + bool(parts % groups)) * partial
        found["8-bit result"] += times[-1] * width * line.count("narrowed<")
        found["loads"] += times[-1] * len(re.findall(r"\*\(in\d+|toFloat\(out\d+\[row", line))
        found["stores"] += times[-1] * len(re.findall(r"^out\d+\[row\]", line))
        value = VALUE.match(line)
        if value:
            found[COSTLY.get(value[1], "operation")] += times[-1]
        found["operation"] += times[-1] * len(re.findall(r"toFloat\(|fromFloat<\w*f16>", line))
        found["operation"] += times[-1] * len(re.findall(r"^(?:partial|sums)\d+.*=", line))
        words = re.match(r"randomWords<(\d+)>", line)
        if words:
            kind = "placed word" if "placeOf" in line else "word"
            found[kind] += times[-1] * int(words[1])
        found["row reduction"] += line.count("reduceRow<")
        groups = re.match(r"reduceGroups<\d+, \d+, (\d+)>", line)
        found["column reduction"] += int(groups[1]) if groups else 0
        found["held"] += sum(int(w) * int(n) * BYTES[t] / 4 for t, w, n in HELD.findall(line))
        found["held"] += sum(int(n) * int(w) for n, w in (*KEPT.findall(line), *SUMS.findall(line)))
    found["access"] = found["loads"] + found["stores"]
    found["narrow access"] = found["narrow loads"] + found["narrow stores"]
    found["slow path"] = bool(found["division"] + found["root"])
    return found


def fused_budget(kernel, rows):
    """From the rows; where one is exceeded today, so are the figures it goes into."""
    content = content_of(kernel.text)
    has_narrow = rows["narrow access"][1] is not None
    budget, today, reasons = {}, {}, {}

    def add(figure, names):
        used = [(content[name], *rows[name]) for name in names if content[name]]
        budget[figure] = sum(count * plan for count, plan, _, _ in used)
        today[figure] = sum(
            count * (plan if over is None else over) for count, plan, over, _ in used
        )
        reasons[figure] = "; ".join(why for _, _, _, why in used if why)

    add(REGISTERS, ("register", "held"))
    add(INSTRUCTIONS, [name for name in rows if name not in ("register", "held")])
    for kind in ("loads", "stores"):
        budget[kind] = content[kind]
        today[kind] = content[kind] + has_narrow * content[f"narrow {kind}"]
        reasons[kind] = rows["narrow access"][2]
    over = {
        figure: (limit, reasons[figure])
        for figure, limit in today.items()
        if limit > budget[figure]
    }
    return Budget(RULE, frozenset(), False, 1, 0, budget, over)


def fused_figures(machine):
    counts = sass.counts(machine.code)
    figures = {what: counts[what] for what in (INSTRUCTIONS, "loads", "stores")}
    return figures | own_figures(machine)
