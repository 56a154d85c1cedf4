# Part of Hocket, under the Apache License v2.0.
"""The texts that tokenizers are compared on; TokenizerTexts.cpp makes the same."""

import hashlib
import struct
import unicodedata

MASK = (1 << 64) - 1

SPACES = ["\n", "\t", "\r", " ", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b", "\r\n"]
SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
ENDINGS = ["'s", "'S", "'ll", "'RE", "'\u017f", "'t", "'d", "'vE", "n't", "'"]
SPECIAL = ["<|endoftext|>", "<|begin_of_text|>", "<think>", "</think>", "[CLS]", "[MASK]",
           "[UNK]", "<s>", "</s>", "<unk>", "<0x41>", "\u2581", "##a", "<|endoftext|"]  # fmt: skip
# First code point and number of them; all assigned since Unicode 8.
RANGES = [(0x900, 0x78), (0x1100, 0x100), (0x4E00, 0x5000), (0x1F300, 0x100), (0x300, 0x70),
          (0x620, 0x40), (0xAC00, 0x2B00), (0xFF01, 0x5E), (0x2460, 0x20), (0x3041, 0x50)]  # fmt: skip

LANGUAGES = {
    "English": "The quick brown fox doesn't jump over 1,234 lazy dogs; it's 12:30 o'clock.",
    "German": "Der Übergrößenträger läuft über die Straße – fünf Äpfel für 3,50 €.",
    "French": "L'été dernier, nous étions déjà à l'œuvre ; n'est-ce pas « génial » ?",
    "Spanish": "¿Cómo estás? El pingüino comió 12 piñas en la mañana, ¡qué día!",
    "Russian": "Съешь же ещё этих мягких французских булок, да выпей чаю: 100 рублей.",
    "Greek": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, είπε ο Σίσυφος στις 5 το πρωί.",
    "Hindi": "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३ बार।",
    "Arabic": "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر ١٢٣٤.",
    "Japanese": "いろはにほへと ちりぬるを、東京タワーは333メートルです。ﾃｽﾄ",
    "Chinese": "敏捷的棕色狐狸跳过了那只懒狗，价格是１２３元。",
    "Korean": "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다 2024년.",
    "Emoji": "👩‍👩‍👧‍👦 family, 🇫🇷 flag, ✌🏽 hand… e\u0301 and é, ﬁne, ½ ² Ⅷ İstanbul",
}


class Numbers:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, limit):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        return (z ^ z >> 31) % limit


def random_text(numbers):
    """Up to forty pieces, of what tokenizers treat in different ways."""
    pieces = []
    for _ in range(numbers.below(40)):
        kind = numbers.below(18)
        if kind < 6:
            pieces.append(chr(ord("a") + numbers.below(26)))
        elif kind == 6:
            pieces.append(chr(ord("A") + numbers.below(26)))
        elif kind == 7:
            pieces.append(chr(ord("0") + numbers.below(10)))
        elif kind < 11:
            pieces.append(" ")
        elif kind == 11:
            pieces.append(SPACES[numbers.below(len(SPACES))])
        elif kind == 12:
            pieces.append(SIGNS[numbers.below(len(SIGNS))])
        elif kind == 13:
            pieces.append(ENDINGS[numbers.below(len(ENDINGS))])
        elif kind == 14:
            pieces.append(chr(0xC0 + numbers.below(0x180)))
        elif kind == 15:
            first, count = RANGES[numbers.below(len(RANGES))]
            pieces.append(chr(first + numbers.below(count)))
        elif kind == 16:
            pieces.append(SPECIAL[numbers.below(len(SPECIAL))])
        else:
            pieces.append(chr(ord("a") + numbers.below(3)) * numbers.below(40))
    return "".join(pieces)


def random_texts(count, seed=1):
    numbers = Numbers(seed)
    return [random_text(numbers) for _ in range(count)]


# Of other kinds today than in the tables that `tokenizers` has for BERT.
RECLASSIFIED = {0x166D, 0x1734, 0x1885, 0x1886}


def code_points(settled=False):
    """Those that Unicode 14 has, or, settled, those of 3.2: later versions add to
    them, and what a library makes of a new one depends on its own tables."""
    assert unicodedata.unidata_version.startswith("14.")
    assigned = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    if not settled:
        return assigned
    then = unicodedata.ucd_3_2_0.category
    return [c for c in assigned if then(chr(c)) != "Cn" and c not in RECLASSIFIED]


def code_point_text(code):
    """A code point beside letters, digits, spaces, and itself."""
    c = chr(code)
    return f"a{c}b {c}1{c}{c} {c}"


def digest(lists):
    """Of lists of token numbers, in 16 digits."""
    sha = hashlib.sha256()
    for ids in lists:
        sha.update(struct.pack(f"<{len(ids) + 1}i", *ids, -1))
    return sha.hexdigest()[:16]
