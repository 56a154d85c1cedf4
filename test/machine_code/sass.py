# Part of Hocket, under the Apache License v2.0.
"""NVIDIA's machine code as far as budgets ask what is in it.

From sm_70 on an instruction has 128 bits. Of its first 64, the low 9 are the
operation, the next 3 the form of its operands (registers, constants, immediates)
and bits 12 to 15 its guard: a predicate, 7 where there is none. NVIDIA documents
none of this. So the table below has only what is counted, and test_decoder.py
compiles kernels of known content to prove each row for each architecture.
"""

import struct
from collections import Counter
from dataclasses import dataclass

# The operation's 9 bits, and what it is counted as.
OPERATIONS = {
    0x180: "loads",  # LD: an address that may be in any memory
    0x181: "loads",  # LDG
    0x1AE: "loads",  # LDGSTS, cp.async: from global to shared memory
    0x1B4: "loads",  # UTMALDG: a box that TMA fetches
    0x185: "stores",  # ST
    0x186: "stores",  # STG
    0x184: "shared",  # LDS
    0x188: "shared",  # STS
    0x03B: "shared",  # LDSM, ldmatrix
    0x183: "local",  # LDL
    0x187: "local",  # STL
    0x03C: "mma",  # HMMA
    0x1F0: "wgmma",  # HGMMA
    0x1C8: "setmaxnreg",  # USETMAXREG
    0x11D: "barriers",  # BAR
}
BRANCH, CALL, EXIT, RETURN, NOTHING = 0x147, 0x144, 0x14D, 0x150, 0x118
# What gives a thread's registers their values, as far as roles are told apart by it:
# MOV, SEL, FMNMX, IADD3, LEA, LOP3, PRMT, SHF, FMUL, FADD, FFMA, IMAD, VIADD, MUFU,
# and loads. Bits 16 to 23 of others may name uniform registers, or none.
WRITING = {
    0x002, 0x007, 0x009, 0x010, 0x011, 0x012, 0x016, 0x019, 0x020, 0x021, 0x023, 0x024,
    0x025, 0x027, 0x036, 0x108, 0x181, 0x184, 0x1F0,
}  # fmt: skip
ALWAYS, NEVER = 7, 15  # the predicate that is true, and the same negated
NO_REGISTER = 255  # RZ


def field(value, begin, end):
    return value >> begin & (1 << end - begin) - 1


def signed(value, bits):
    return value - (value >> bits - 1 << bits)


@dataclass(frozen=True)
class Instruction:
    bits: int  # all 128

    @property
    def operation(self):
        return field(self.bits, 0, 9)

    @property
    def counted_as(self):
        """Nothing where it is there for its time alone: "@!PT LDS RZ, [RZ]"."""
        if field(self.bits, 12, 16) == NEVER:
            return None
        return OPERATIONS.get(self.operation)

    @property
    def is_always_done(self):
        """Of branches and exits, which have a second predicate."""
        return (
            field(self.bits, 9, 12) == 4
            and field(self.bits, 12, 16) == ALWAYS
            and field(self.bits, 87, 91) == ALWAYS
        )

    def distance(self, arch):
        """From the instruction behind a branch to where it leads, in instructions."""
        bytes_ = field(self.bits, 34, 82)
        if number_of(arch) < 90:
            return signed(bytes_, 48) * 4 // 16
        return signed(bytes_ << 8 | field(self.bits, 16, 24), 56) * 4 // 16

    @property
    def target(self):
        """The number of the register that it writes, or None."""
        register = field(self.bits, 16, 24)
        writes = self.operation in WRITING and register != NO_REGISTER
        return register if writes else None


def number_of(arch):
    """90 of "sm_90a"."""
    return int("".join(c for c in arch if c.isdigit()))


def kernels_of(image):
    """{symbol: its instructions} of a cubin, without what fills its end."""
    (start,) = struct.unpack_from("<Q", image, 0x28)
    count, names = struct.unpack_from("<HH", image, 0x3C)
    sections = [
        struct.unpack_from("<IIQQQQ", image, start + 64 * i) for i in range(count)
    ]
    offset = sections[names][4]
    kernels = {}
    for name, _, _, _, begin, size in sections:
        end = image.index(b"\0", offset + name)
        name = image[offset + name : end].decode()
        if name.startswith(".text."):
            words = struct.iter_unpack("<QQ", image[begin : begin + size])
            code = [Instruction(low | high << 64) for low, high in words]
            kernels[name.removeprefix(".text.")] = without_padding(code)
    return kernels


def without_padding(code):
    """Functions end with a branch to itself and with what does nothing."""
    end = len(code)
    while end and code[end - 1].operation == NOTHING:
        end -= 1
    return code[: end - 1] if end and code[end - 1].operation == BRANCH else code[:end]


def successors(code, arch):
    """Of each instruction those that may follow it. What a call leads to is not
    followed: divisions of odd numbers, which come back."""
    following = []
    for at, instruction in enumerate(code):
        operation, next_ = instruction.operation, []
        if operation == BRANCH:
            next_ = [at + 1 + instruction.distance(arch)]
        ends = operation in (BRANCH, EXIT, RETURN) and instruction.is_always_done
        if not ends:
            next_.append(at + 1)
        following.append([to for to in next_ if 0 <= to < len(code)])
    return following


def reached_from(start, following):
    reached, waiting = {start}, [start]
    while waiting:
        for to in following[waiting.pop()]:
            if to not in reached:
                reached.add(to)
                waiting.append(to)
    return reached


def loops(code, arch):
    """The instructions of each outermost loop: what is reached from itself, by the
    algorithm of Tarjan without recursion."""
    following = successors(code, arch)
    order, lowest, found = {0: 0}, {0: 0}, []
    open_, is_open = [0], {0}
    calls = [(0, iter(following[0]))]
    while calls:
        at, rest = calls[-1]
        for to in rest:
            if to not in order:
                order[to] = lowest[to] = len(order)
                open_.append(to)
                is_open.add(to)
                calls.append((to, iter(following[to])))
                break
            if to in is_open:
                lowest[at] = min(lowest[at], order[to])
        else:
            calls.pop()
            if calls:
                lowest[calls[-1][0]] = min(lowest[calls[-1][0]], lowest[at])
            if lowest[at] == order[at]:
                loop = [open_.pop()]
                while loop[-1] != at:
                    loop.append(open_.pop())
                is_open.difference_update(loop)
                if len(loop) > 1 or at in following[at]:
                    found.append([code[i] for i in sorted(loop)])
    return found


def counts(code):
    """How many instructions, and how many of each kind that is counted."""
    found = Counter(i.counted_as for i in code if i.counted_as)
    found["instructions"] = len(code)
    return found


def iteration(code, arch):
    """The longest loop."""
    return max(loops(code, arch), key=len, default=[])


def registers_by_role(code, arch):
    """Where registers change hands: {what a role asks for: what it uses}, the most
    of all threads that ask for the same."""
    following, used = successors(code, arch), {}
    for at, instruction in enumerate(code):
        if instruction.counted_as == "setmaxnreg":
            role = reached_from(at, following)
            targets = [code[i].target for i in role]
            most = 1 + max((t for t in targets if t is not None), default=0)
            granted = field(instruction.bits, 32, 40)
            used[granted] = max(used.get(granted, 0), most)
    return used
