"""Results of PTX instructions by exact arithmetic: writes `tables/modifiers.txt`, a line for each modifier of each instruction that
computes something from registers, as far as the other tables have none. Run it after the table of instructions has changed:

    python3 tests/ptx/exact.py
"""

import itertools
import pathlib
from fractions import Fraction

# The digits of a format, and the exponent of its least normal number.
FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INF, NAN = "inf", "nan"


def decode(ty, bits):
    """Sign and size: a fraction, infinity or NaN."""
    digits, least = FORMATS[ty]
    sign, size = bits >> (BITS[ty] - 1), bits & ((1 << (BITS[ty] - 1)) - 1)
    exponent, fraction = size >> (digits - 1), size & ((1 << (digits - 1)) - 1)
    if exponent == (1 << (BITS[ty] - digits)) - 1:
        return sign, NAN if fraction else INF
    if exponent == 0:
        return sign, Fraction(fraction) * Fraction(2) ** (least - digits + 1)
    return sign, (Fraction(fraction) + (1 << (digits - 1))) * Fraction(2) ** (exponent - 1 + least - digits + 1)


def infinity(ty):
    return ((1 << (BITS[ty] - FORMATS[ty][0])) - 1) << (FORMATS[ty][0] - 1)


def encode(ty, sign, size, mode="rn"):
    """The bits of a number rounded in this way."""
    digits, least = FORMATS[ty]
    top = sign << (BITS[ty] - 1)
    if size == NAN:
        return NAN
    if size == INF:
        return top | infinity(ty)
    if size == 0:
        return top
    exponent = least
    while size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - digits + 1)
    whole, rest = divmod(size, unit)
    away = {"rz": False, "rm": sign == 1, "rp": sign == 0, "rna": rest * 2 >= unit}.get(
        mode, rest * 2 > unit or rest * 2 == unit and whole % 2 == 1
    )
    whole = int(whole) + (rest > 0 and away)
    # The next exponent goes on where the digits end.
    bits = whole + ((exponent - least) << (digits - 1))
    if bits >= infinity(ty):
        bits = infinity(ty) if mode == "rn" or mode == "rna" or away else infinity(ty) - 1
    return top | bits


def flushed(ty, number):
    sign, size = number
    small = isinstance(size, Fraction) and 0 < size < Fraction(2) ** FORMATS[ty][1]
    return (sign, Fraction(0)) if small else number


def signed(sign, size):
    return -size if sign else size


def add(a, b, mode):
    if NAN in (a[1], b[1]) or (a[1] == b[1] == INF and a[0] != b[0]):
        return 0, NAN
    for one in (a, b):
        if one[1] == INF:
            return one
    total = signed(*a) + signed(*b)
    if total == 0:
        same = a[0] == b[0] and a[1] == b[1] == 0
        return (a[0] if same else int(mode == "rm")), Fraction(0)
    return int(total < 0), abs(total)


def multiply(a, b):
    sign = a[0] ^ b[0]
    if NAN in (a[1], b[1]) or (INF in (a[1], b[1]) and 0 in (a[1], b[1])):
        return 0, NAN
    return sign, INF if INF in (a[1], b[1]) else a[1] * b[1]


def divide(a, b):
    sign = a[0] ^ b[0]
    if NAN in (a[1], b[1]) or a[1] == b[1] == INF or a[1] == b[1] == 0:
        return 0, NAN
    if a[1] == INF or b[1] == 0:
        return sign, INF
    return sign, Fraction(0) if b[1] == INF or a[1] == 0 else a[1] / b[1]


def arithmetic(name, to, numbers, words):
    """The exact result of decoded numbers, rounded to a format."""
    mode = next((word for word in words if word in ("rz", "rm", "rp")), "rn")
    if "ftz" in words:
        numbers = [flushed(to, number) for number in numbers]
    if name == "add":
        result = add(*numbers, mode)
    elif name == "sub":
        result = add(numbers[0], (1 - numbers[1][0], numbers[1][1]), mode)
    elif name == "mul":
        result = multiply(*numbers)
    elif name == "fma":
        result = add(multiply(*numbers[:2]), numbers[2], mode)
    elif name == "abs":
        result = (0, numbers[0][1])
    elif name == "neg":
        result = (1 - numbers[0][0], numbers[0][1])
    elif name == "div":
        result = divide(*numbers)
    elif name == "rcp":
        sign, size = numbers[0]
        result = (sign, NAN if size == NAN else 0 if size == INF else INF if size == 0 else 1 / size)
        result = (result[0], Fraction(0)) if result[1] == 0 and size == INF else result
    else:
        return least_or_most(name, to, numbers, words)
    bits = encode(to, *result, mode)
    if bits == NAN:
        return 0 if "sat" in words else NAN
    result = decode(to, bits)
    if "ftz" in words:
        result = flushed(to, result)
    if "sat" in words and (result[0] or result[1] == 0):
        result = (0, Fraction(0))
    elif "sat" in words and (result[1] == INF or result[1] > 1):
        result = (0, Fraction(1))
    if "relu" in words and result[0]:
        result = (0, Fraction(0))
    return encode(to, *result)


def least_or_most(name, to, numbers, words):
    known = [number for number in numbers if number[1] != NAN]
    if not known or "NaN" in words and len(known) < len(numbers):
        return NAN
    sign = 0
    if "xorsign" in words:
        sign = numbers[0][0] ^ numbers[1][0]
        known = [(0, number[1]) for number in known]
    size = lambda number: (signed(number[0], 10**1000 if number[1] == INF else number[1]), 1 - number[0])
    least_or_most = (min if name == "min" else max)(known, key=size)
    return encode(to, least_or_most[0] ^ sign, least_or_most[1])


def compare(word, a, b, is_float):
    unordered = is_float and NAN in (a[1], b[1])
    if word in ("num", "nan"):
        return unordered == (word == "nan")
    if is_float:
        if unordered:
            return word.endswith("u")
        a, b = (signed(sign, 10**1000 if size == INF else size) for sign, size in (a, b))
    word = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(word, word[:2])
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[word]


SAMPLES = {
    "f32": [0, 0x80000000, 0x3F800000, 0x3F800001, 0xBF800000, 0x33C00000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x807FFFFF, 0x7F7FFFFF],
    "f16": [0, 0x8000, 0x3C00, 0x3C01, 0xBC00, 0x1200, 0x7C00, 0xFC00, 0x7E00, 1, 0x83FF, 0x7BFF],
    "bf16": [0, 0x8000, 0x3F80, 0x3F81, 0xBF80, 0x3B40, 0x7F80, 0xFF80, 0x7FC0, 1, 0x807F, 0x7F7F],
    "f64": [0, 1 << 63, 0x3FF << 52, (0x3FF << 52) + 1, 0xBFF << 52, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, 1],
}
FLOATS = tuple(SAMPLES)
lines = []


def tell(instruction, inputs, results):
    show = lambda value: value if value == NAN else f"{value:#x}"
    lines.append(f"{instruction} {' '.join(map(show, inputs))} => {' '.join(map(show, results))}")


def samples(ty, count, every):
    """Some combinations of samples, all of which come up."""
    yield from itertools.islice(itertools.product(SAMPLES[ty], repeat=count), 0, None, every)


def dotted(*words):
    return ".".join(word for word in words if word)


def floats():
    modes = ("", "rn", "rz", "rm", "rp")
    every = {1: 1, 2: 5, 3: 59}
    counts = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "abs": 1, "neg": 1, "min": 2, "max": 2, "rcp": 1}
    plain = [("add", "f16", ("sat",)), ("add", "bf16", ()), ("sub", "f32", ("ftz",)), ("sub", "bf16", ()), ("mul", "f16", ())]
    plain += [("mul", "f16", ("ftz",)), ("mul", "bf16", ()), ("abs", "f16", ("ftz",)), ("neg", "f16", ("ftz",))]
    plain += [("rcp", "f32", ("rn", "ftz"))]
    orders = [
        (name, ty, (ftz, nan, *xorsign))
        for name, ty, ftz, nan, xorsign in itertools.product(
            ("min", "max"), ("f32", "f16", "bf16"), ("", "ftz"), ("", "NaN"), ((), ("xorsign", "abs"))
        )
        if not (ty == "bf16" and ftz)
    ]
    plain += orders
    for name, ty, words in plain:
        for inputs in samples(ty, counts[name], every[counts[name]]):
            tell(dotted(name, *words, ty), inputs, [arithmetic(name, ty, [decode(ty, bits) for bits in inputs], words)])
    # Two numbers side by side.
    packed = [(name, "f32", (mode, ftz)) for name in ("add", "sub", "mul", "fma") for mode in modes for ftz in ("", "ftz")]
    packed = [one for one in packed if one[0] != "fma" or one[2][0]]
    packed += [("fma", "f16", ("rn", "relu"))] + [one for one in orders if one[1] != "f32"]
    for name, ty, words in packed:
        every_one = [bits for bits in samples(ty, counts[name], every[counts[name]])]
        results = [(bits, arithmetic(name, ty, [decode(ty, one) for one in bits], words)) for bits in every_one]
        results = [one for one in results if one[1] != NAN]
        for (low, low_result), (high, high_result) in zip(results[::4], results[2::4]):
            inputs = [a | b << BITS[ty] for a, b in zip(low, high)]
            tell(dotted(name, *words, ty + "x2"), inputs, [low_result | high_result << BITS[ty]])
    # Halves and singles mixed, in singles.
    for name, narrow, mode, sat in itertools.product(("add", "sub", "fma"), ("f16", "bf16"), modes, ("", "sat")):
        if name == "fma" and not mode:
            continue
        count = counts[name]
        for index, inputs in enumerate(itertools.product(SAMPLES[narrow], *[SAMPLES[narrow]] * (count - 2), SAMPLES["f32"])):
            if index % (17 if count == 2 else 199) == 0:
                numbers = [decode(narrow, bits) for bits in inputs[:-1]] + [decode("f32", inputs[-1])]
                tell(dotted(name, mode, sat, "f32", narrow), inputs, [arithmetic(name, "f32", numbers, (mode, sat))])
    # What is exact of functions that are approximated.
    for instruction, pairs in {
        "sin.approx.ftz.f32": [(0, 0), (1, 0), (0x80000001, 0x80000000)],
        "cos.approx.ftz.f32": [(0, 0x3F800000), (1, 0x3F800000), (0x80000001, 0x3F800000)],
        "tanh.approx.f16x2": [(0x7C000000, 0x3C000000), (0x8000FC00, 0x8000BC00)],
        "tanh.approx.bf16": [(0x7F80, 0x3F80), (0xFF80, 0xBF80), (0, 0), (0x8000, 0x8000)],
    }.items():
        for bits, result in pairs:
            tell(instruction, [bits], [result])


INTS = {"u16": 16, "u32": 32, "u64": 64, "s16": 16, "s32": 32, "s64": 64, "b16": 16, "b32": 32, "b64": 64}


def int_samples(ty):
    bits = INTS[ty]
    return [(0, 0), (1, (1 << bits) - 1), ((1 << bits) - 1, 1), (5, 3), (1 << (bits - 1), (1 << (bits - 1)) - 1)]


def number(ty, bits):
    return bits - (1 << INTS[ty]) if ty.startswith("s") and bits >> (INTS[ty] - 1) else bits


def comparisons(ty):
    """Words that compare a type, each with pairs of operands and what comes out."""
    is_float = ty in FLOATS
    words = ["eq", "ne"]
    if ty[0] != "b" or is_float:
        words += ["lt", "le", "gt", "ge"]
    if is_float:
        words += ["equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]
    if ty[0] == "u":
        words += ["lo", "ls", "hi", "hs"]
    pairs = list(samples(ty, 2, 13)) if is_float else int_samples(ty)
    for word in words:
        for ftz in ("", "ftz") if ty in ("f32", "f16") else ("",):
            for pair in pairs:
                operands = [decode(ty, bits) if is_float else number(ty, bits) for bits in pair]
                if ftz:
                    operands = [flushed(ty, one) for one in operands]
                yield word, ftz, pair, compare(word, *operands, is_float)


COMBINE = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
ONES = {"u16": 0xFFFF, "s16": 0xFFFF, "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def choices():
    for ty in (*INTS, "f32", "f64", "f16", "bf16"):
        expected_words = list(comparisons(ty))
        if ty[0] == "b" and ty != "bf16":
            for word, ftz, pair, result in expected_words:
                tell(dotted("setp", word, ty), pair, [int(result), int(not result)])
        for index, (word, ftz, pair, result) in enumerate(expected_words):
            by, other = list(COMBINE)[index % 3], index // 3 % 2
            both = [COMBINE[by](int(one), other) for one in (result, not result)]
            # Halves have one result.
            tell(dotted("setp", word, by, ftz, ty), [*pair, other], both[: 1 if ty in ("f16", "bf16") else 2])
            kinds = ("u32", "s32", "u16", "s16", ty) if ty in ("f16", "bf16") else ("u32", "s32", "f32")
            to = kinds[index % len(kinds)]
            tell(dotted("set", word, ftz, to, ty), pair, [ONES[to] * result])
            tell(dotted("set", word, by, ftz, to, ty), [*pair, other], [ONES[to] * both[0]])
    for ty in ("f16", "bf16"):
        # Neighbours in the list, where they are of one comparison.
        for index, (one, two) in enumerate(itertools.pairwise(comparisons(ty))):
            (word, ftz, low, first), (other, other_ftz, high, second) = one, two
            if (word, ftz) != (other, other_ftz):
                continue
            pair = [a | b << 16 for a, b in zip(low, high)]
            tell(dotted("setp", word, ftz, ty + "x2"), pair, [int(first), int(second)])
            by, third = list(COMBINE)[index % 3], index // 3 % 2
            both = [COMBINE[by](int(result), third) for result in (first, second)]
            tell(dotted("setp", word, by, ftz, ty + "x2"), [*pair, third], both)
            tell(dotted("set", word, ftz, ty + "x2", ty + "x2"), pair, [ONES[ty] * first | ONES[ty] * second << 16])
    for ty in (*INTS, "f32", "f64"):
        bits = INTS.get(ty) or BITS[ty]
        a, b = 0x1234567890ABCDEF & ((1 << bits) - 1), 0xFEDCBA0987654321 & ((1 << bits) - 1)
        for choice in (0, 1):
            tell(dotted("selp", ty), [a, b, choice], [a if choice else b])
        for choice in (0, 1, 0xFFFFFFFF, 0x80000000):
            tell(dotted("slct", ty, "s32"), [a, b, choice], [b if choice >> 31 else a])
        for choice in (0, 0x80000000, 0xBF800000, 0x3F800000, 0x7FC00000, 0x80000001):
            for ftz in ("", "ftz"):
                sign, size = decode("f32", choice)
                sign, size = flushed("f32", (sign, size)) if ftz else (sign, size)
                is_first = size != NAN and (not sign or size == 0)
                tell(dotted("slct", ftz, ty, "f32"), [a, b, choice], [a if is_first else b])


def conversions():
    for mode, to in itertools.product(("rn", "rz"), ("f16", "bf16")):
        for high, low in ((0x3F800001, 0xBF800000), (0x477FF000, 0x477FEFFF), (0x80000000, 0x3F808000), (0xC0490FDB, 0x40490FDB)):
            halves = [encode(to, *decode("f32", bits), mode) for bits in (high, low)]
            halves = [0 if half >> 15 else half for half in halves]
            tell(dotted("cvt", mode, "relu", to + "x2", "f32"), [high, low], [halves[0] << 16 | halves[1]])
    for mode in ("rn", "rz"):
        for bits in (0x3F801000, 0x3F803000, 0xBF803000, 0x3F800FFF, 0x7F800000):
            # Ten digits after the first.
            sign, size = decode("f32", bits)
            digit = 1 << 13
            rest, whole = bits % digit, bits // digit * digit
            up = mode == "rn" and (rest * 2 > digit or rest * 2 == digit and whole // digit % 2 == 1)
            tell(dotted("cvt", mode, "relu", "tf32", "f32"), [bits], [0 if sign else whole + digit * up])
    for bits in (0, 1, 0x7F, 0x80, 0xFF):
        tell("cvt.u32.u8", [bits], [bits])
        tell("cvt.s32.s8", [bits], [(bits - 256 * (bits > 127)) & 0xFFFFFFFF])
        tell("cvt.u8.u32", [bits | 0x300], [bits])
        tell("cvt.s8.s32", [bits | 0x300], [bits])
        tell("cvt.sat.u8.s32", [bits | 0x300], [0xFF])
        tell("cvt.sat.s8.s32", [bits | 0xFFFFFF00], [bits if bits > 127 else 0x80])
        tell("cvt.rn.f32.u8", [bits], [encode("f32", 0, Fraction(bits))])
        tell("cvt.rn.f16.s8", [bits], [encode("f16", int(bits > 127), Fraction(abs(bits - 256 * (bits > 127))))])
    for bits in SAMPLES["f32"]:
        tell("cvt.rn.bf16.f32", [bits], [encode("bf16", *decode("f32", bits))])
        tell("cvt.rn.ftz.f16.f32", [bits], [encode("f16", *flushed("f32", decode("f32", bits)))])
        sign, size = flushed("f32", decode("f32", bits))
        if size not in (INF, NAN) and size < 1 << 31:
            tell("cvt.rpi.ftz.s32.f32", [bits], [int(-(-signed(sign, size) // 1)) & 0xFFFFFFFF])
    for bits in SAMPLES["bf16"]:
        tell("cvt.f32.bf16", [bits], [encode("f32", *decode("bf16", bits))])


def carries():
    """After the operands of what takes a carry stands the carry; after the result of what gives one, the carry."""
    for ty in ("u32", "s32", "u64", "s64"):
        bits = INTS[ty]
        mask = (1 << bits) - 1
        for (a, b), carry in itertools.product(int_samples(ty) + [(mask, mask), (7, 7)], (0, 1)):
            total, rest = a + b + carry, a - b - carry
            tell(dotted("addc", ty), [a, b, carry], [total & mask])
            tell(dotted("addc", "cc", ty), [a, b, carry], [total & mask, total >> bits])
            tell(dotted("subc", ty), [a, b, carry], [rest & mask])
            tell(dotted("subc", "cc", ty), [a, b, carry], [rest & mask, int(rest < 0)])
            for part, c in itertools.product(("lo", "hi"), (0, 9, mask)):
                product = number(ty, a) * number(ty, b)
                half = (product if part == "lo" else product >> bits) & mask
                total = half + c + carry
                tell(dotted("madc", part, ty), [a, b, c, carry], [total & mask])
                tell(dotted("madc", part, "cc", ty), [a, b, c, carry], [total & mask, total >> bits])


def memory():
    """Of what is in memory before: the operand of an address. After the results stands what is there afterwards."""
    access_types = ("b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64")
    size = lambda ty: INTS.get(ty) or BITS.get(ty) or 8
    a, b = 0x1234567890ABCDEF, 0xFEDCBA0987654381

    def widened(ty, value):
        value &= (1 << size(ty)) - 1
        return value

    hints = [("ca",), ("cg",), ("cs",), ("lu",), ("cv",), ("L1::evict_normal",), ("L1::evict_unchanged",), ("L1::evict_first",)]
    hints += [("L1::evict_last",), ("L1::no_allocate",), ("L2::64B",), ("L2::128B",), ("L2::256B",), ("nc",), ("nc", "L1::no_allocate", "L2::128B")]
    spaces = ("", "global", "shared", "shared::cta", "local")
    for ty in access_types:
        for space in spaces:
            tell(dotted("ld", space, ty), [widened(ty, b)], [widened(ty, b), widened(ty, b)])
            tell(dotted("st", space, ty), [widened(ty, a), widened(ty, b)], [widened(ty, b)])
        tell(dotted("ldu", "global", ty), [widened(ty, b)], [widened(ty, b), widened(ty, b)])
    scoped = [(sem, scope) for sem in ("relaxed", "acquire", "release") for scope in ("cta", "gpu", "sys")]
    for words in [("weak",), ("volatile",), *scoped]:
        for space in ("", "global", "shared"):
            if "release" not in words:
                tell(dotted("ld", *words, space, "u32"), [7], [7, 7])
            if "acquire" not in words:
                tell(dotted("st", *words, space, "u32"), [7, 9], [9])
    for words in hints:
        tell(dotted("ld", "global", *words, "b32"), [a & 0xFFFFFFFF], [a & 0xFFFFFFFF] * 2)
    for words in [("wb",), ("cg",), ("cs",), ("wt",), *hints[5:10]]:
        tell(dotted("st", "global", *words, "b32"), [1, a & 0xFFFFFFFF], [a & 0xFFFFFFFF])
    for ty in ("u32", "s32"):
        bits, mask = 32, 0xFFFFFFFF
        for space in ("", "global", "shared", "shared::cta"):
            for (x, y), words in zip(int_samples(ty), [(), ("relaxed", "gpu"), ("acquire", "cta"), ("release", "sys"), ("acq_rel", "gpu")]):
                signed_pair = [number(ty, one) for one in (x, y)]
                found = {"add": (x + y) & mask, "min": min(signed_pair) & mask, "max": max(signed_pair) & mask}
                if ty == "u32":
                    found["inc"] = 0 if x >= y else x + 1
                    found["dec"] = y if x == 0 or x > y else x - 1
                for name, after in found.items():
                    tell(dotted("atom", *words, space, name, ty), [x, y], [x, after])
                    if words and words[0] in ("acquire", "acq_rel"):
                        continue
                    tell(dotted("red", *words, space, name, ty), [x, y], [after])
    for ty in ("b32", "b64"):
        for x, y in int_samples(ty):
            for name, after in {"and": x & y, "or": x | y, "xor": x ^ y, "exch": y}.items():
                tell(dotted("atom", "global", name, ty), [x, y], [x, after])
                if name != "exch":
                    tell(dotted("red", "global", name, ty), [x, y], [after])
    for ty in ("u64", "s64"):
        mask = (1 << 64) - 1
        for x, y in int_samples(ty):
            pair = [number(ty, one) for one in (x, y)]
            found = {"min": min(pair) & mask, "max": max(pair) & mask}
            if ty == "u64":
                found["add"] = (x + y) & mask
            for name, after in found.items():
                tell(dotted("atom", "global", name, ty), [x, y], [x, after])
                tell(dotted("red", "global", name, ty), [x, y], [after])
    for ty in ("b16", "b32", "b64"):
        for x, y in int_samples(ty):
            for compared in (x, x ^ 1):
                tell(dotted("atom", "global", "cas", ty), [x, compared, y], [x, y if compared == x else x])
    for ty, words in (("f32", ()), ("f64", ()), ("f16", ("noftz",)), ("bf16", ("noftz",))):
        for pair in samples(ty, 2, 5):
            after = arithmetic("add", ty, [decode(ty, bits) for bits in pair], ())
            if after != NAN:
                tell(dotted("atom", "global", "add", *words, ty), pair, [pair[0], after])
                tell(dotted("red", "global", "add", *words, ty), pair, [after])
    for half in ("f16", "bf16"):
        sums = [(*pair, arithmetic("add", half, [decode(half, bits) for bits in pair], ())) for pair in samples(half, 2, 5)]
        sums = [one for one in sums if one[2] != NAN]
        for low, high in zip(sums, sums[1:]):
            x, y, after = (a | b << 16 for a, b in zip(low, high))
            tell(dotted("atom", "global", "add", "noftz", half + "x2"), [x, y], [x, after])
            tell(dotted("red", "global", "add", "noftz", half + "x2"), [x, y], [after])


def quotients():
    """Quotients of doubles: samples, random bits, and such whose quotients are about the least normal number and below."""
    state = 1

    def draw(bits):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return state >> (64 - bits)

    pairs = list(samples("f64", 2, 4))
    pairs += [(draw(64), draw(64)) for _ in range(40)]
    near_one = lambda: (0x3FE + draw(1) << 52) + draw(52)
    for down in (1021, 1022, 1023, 1030, 1060, 1074, 1075, 1076):
        # A numerator that is small, a divisor that is near one.
        for _ in range(5):
            low = max(1023 - down, 0)
            numerator = (low << 52) + draw(52) if low else draw(max(1, 1075 - down))
            pairs.append((draw(1) << 63 | numerator, draw(1) << 63 | near_one()))
    pairs += [(0x001FFFFFFFFFFFFF, 0x4000000000000000), (0x0010000000000000, 0x3FF0000000000001), (1, 0x7FEFFFFFFFFFFFFF)]
    pairs += [(0x7FEFFFFFFFFFFFFF, 1), (0x7FEFFFFFFFFFFFFF, 0x3FEFFFFFFFFFFFFF), (3, 0x4000000000000000), (0x000FFFFFFFFFFFFF, 0x3FEFFFFFFFFFFFFF)]
    for mode in ("rn", "rz", "rm", "rp"):
        for pair in pairs:
            tell(dotted("div", mode, "f64"), pair, [arithmetic("div", "f64", [decode("f64", bits) for bits in pair], (mode,))])
        for bits in sorted({one for pair in pairs for one in pair})[::5]:
            tell(dotted("rcp", mode, "f64"), [bits], [arithmetic("rcp", "f64", [decode("f64", bits)], (mode,))])


def part(word, index, bits, ty):
    """A part of a word as a number."""
    value = word >> (index * bits) & ((1 << bits) - 1)
    return value - (1 << bits) if ty == "s32" and value >> (bits - 1) else value


OF_PARTS = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + 1) // 2 if a + b >= 0 else (a + b) // 2,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}
CONDITIONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def video():
    """Instructions on two or four parts of words."""
    words = [
        (0, 0, 0),
        (0x01020304, 0x04030201, 5),
        (0xFF00FF00, 0x00FF00FF, 0xFFFFFFFF),
        (0x80FF7F00, 0x7F01807F, 7),
        (0x12345678, 0x9ABCDEF0, 0x80000000),
        (0x7FFF8000, 0x80007FFF, 1),
        (0x80018001, 0x80018001, 0x10),
    ]

    def each(a, b, parts, types, compute):
        bits = 32 // parts
        return [compute(part(a, index, bits, types[0]), part(b, index, bits, types[1])) for index in range(parts)]

    def packed(values, parts):
        bits = 32 // parts
        return sum((value & ((1 << bits) - 1)) << (bits * index) for index, value in enumerate(values))

    for parts in (2, 4):
        bits = 32 // parts
        for operation, compute in OF_PARTS.items():
            for types in itertools.product(("u32", "s32"), repeat=3):
                low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if types[0] == "s32" else (0, (1 << bits) - 1)
                for a, b, c in words:
                    values = each(a, b, parts, types[1:], compute)
                    clamped = [min(max(value, low), high) for value in values]
                    name = f"{operation}{parts}"
                    tell(dotted(name, *types), [a, b, c], [packed(values, parts)])
                    tell(dotted(name, *types, "sat"), [a, b, c], [packed(clamped, parts)])
                    tell(dotted(name, *types, "add"), [a, b, c], [(c + sum(values)) & 0xFFFFFFFF])
        for condition, compute in CONDITIONS.items():
            for types in itertools.product(("u32", "s32"), repeat=2):
                for a, b, c in words:
                    values = each(a, b, parts, types, lambda a, b: int(compute(a, b)))
                    tell(dotted(f"vset{parts}", *types, condition), [a, b, c], [packed(values, parts)])
                    tell(dotted(f"vset{parts}", *types, condition, "add"), [a, b, c], [(c + sum(values)) & 0xFFFFFFFF])


# The fraction bits of a format of eight bits, the exponent of its least normal number, and its largest number.
NARROW = {"e4m3": (3, -6, 0x7E), "e5m2": (2, -14, 0x7B)}


def narrow_size(ty, byte):
    """The size of a finite number of eight bits."""
    digits, least, _ = NARROW[ty]
    exponent, fraction = byte >> digits, byte & ((1 << digits) - 1)
    unit = Fraction(2) ** (least - digits)
    return fraction * unit if exponent == 0 else ((1 << digits) + fraction) * unit * 2 ** (exponent - 1)


def to_narrow(ty, number, relu):
    sign, size = number
    most = NARROW[ty][2]
    if size == NAN:
        return 0x7F
    if relu and sign:
        return 0
    if size == INF:
        return sign << 7 | most
    # The nearest one, the even one of two.
    return sign << 7 | min(range(most + 1), key=lambda byte: (abs(narrow_size(ty, byte) - size), byte % 2))


def half_of(ty, byte, relu):
    """The bits of an `f16` for a byte; 0x7fff for NaNs, as on GPUs."""
    size = byte & 0x7F
    if size > NARROW[ty][2]:
        is_infinite = ty == "e5m2" and size == 0x7C
        return (0 if relu and byte >> 7 else byte >> 7 << 15 | 0x7C00) if is_infinite else 0x7FFF
    return 0 if relu and byte >> 7 else encode("f16", byte >> 7, narrow_size(ty, size))


def narrow():
    """Pairs of floats of eight bits."""
    singles = [0, 0x80000000, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0xC3E00000, 0x43E80000, 0x43E80001]
    for ty in NARROW:
        digits, least, most = NARROW[ty]
        own = list(singles)
        for byte in (0, 1, 2, 3, (1 << digits) - 1, 1 << digits, (1 << digits) + 1, 0x38, 0x5A, most - 1):
            # Numbers half way to the next one, and those next to it.
            middle = (narrow_size(ty, byte) + narrow_size(ty, byte + 1)) / 2
            bits = encode("f32", byte & 1, middle)
            own += [bits - 1, bits, bits + 1, encode("f32", 1, narrow_size(ty, byte))]
        for relu in ("", "relu"):
            for high, low in itertools.pairwise(own):
                result = [to_narrow(ty, decode("f32", bits), relu) for bits in (high, low)]
                tell(dotted("cvt", "rn", "satfinite", relu, ty + "x2", "f32"), [high, low], [result[0] << 8 | result[1]])
            halves = [encode("f16", *decode("f32", bits)) for bits in own]
            halves = [0x7E00 if bits == NAN else bits for bits in halves]
            for high, low in itertools.pairwise(halves):
                result = [to_narrow(ty, decode("f16", bits), relu) for bits in (high, low)]
                tell(dotted("cvt", "rn", "satfinite", relu, ty + "x2", "f16x2"), [high << 16 | low], [result[0] << 8 | result[1]])
            for low in range(0x80):
                high = 0x80 | (7 * low + 3) % 0x80
                pair = [half_of(ty, byte, relu) for byte in (high, low)]
                tell(dotted("cvt", "rn", relu, "f16x2", ty + "x2"), [high << 8 | low], [pair[0] << 16 | pair[1]])


if __name__ == "__main__":
    lines.append("# Modifiers, by exact arithmetic: made by tests/ptx/exact.py.")
    floats()
    choices()
    conversions()
    (pathlib.Path(__file__).parent / "tables/modifiers.txt").write_text("\n".join(lines) + "\n")
    lines[:] = ["# Carries, and what is in memory, by exact arithmetic: made by tests/ptx/exact.py."]
    carries()
    memory()
    (pathlib.Path(__file__).parent / "tables/memory.txt").write_text("\n".join(lines) + "\n")
    lines[:] = ["# Quotients of doubles, by exact arithmetic: made by tests/ptx/exact.py."]
    quotients()
    (pathlib.Path(__file__).parent / "tables/quotients.txt").write_text("\n".join(lines) + "\n")
    lines[:] = ["# Video instructions on parts of words, by exact arithmetic: made by tests/ptx/exact.py."]
    video()
    (pathlib.Path(__file__).parent / "tables/video.txt").write_text("\n".join(lines) + "\n")
    lines[:] = ["# Floats of eight bits, by exact arithmetic: made by tests/ptx/exact.py."]
    narrow()
    (pathlib.Path(__file__).parent / "tables/narrow.txt").write_text("\n".join(lines) + "\n")
