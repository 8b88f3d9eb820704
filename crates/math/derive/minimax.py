"""Polynomials that come nearest to a function, with coefficients that are floats.

`fit` minimizes the greatest weighted error over an interval by exchange on a grid (Remez), then rounds one coefficient
after the other, lowest power first, fitting again those that are left, so that each makes up for the rounding of those before.
"""

from mpmath import mp, mpf, cos, pi, matrix, lu_solve, floor, frexp, ldexp

mp.dps = 60


def rounded(x, bits):
    """The nearest float of so many bits of mantissa."""
    if x == 0:
        return mpf(0)
    mantissa, exponent = frexp(x)
    scaled = ldexp(mantissa, bits)
    whole = floor(scaled)
    rest = scaled - whole
    if rest > mpf(1) / 2 or (rest == mpf(1) / 2 and int(whole) % 2 == 1):
        whole += 1
    return ldexp(whole, int(exponent) - bits)


def grid(a, b, points):
    a, b = mpf(a), mpf(b)
    return [(a + b) / 2 + (b - a) / 2 * cos(pi * (2 * i + 1) / (2 * points)) for i in range(points)]


def exchange(xs, goal, weight, powers):
    """Coefficients of the powers that minimize the greatest of |weight * (goal - sum)| on the grid, and that maximum."""
    unknowns = len(powers)
    count = unknowns + 1
    chosen = [(2 * i + 1) * len(xs) // (2 * count) for i in range(count)]
    powered = [[x**p for p in powers] for x in xs]
    for _ in range(40):
        a, b = matrix(count, count), matrix(count, 1)
        for row, at in enumerate(chosen):
            for column in range(unknowns):
                a[row, column] = weight[at] * powered[at][column]
            a[row, unknowns] = (-1) ** row
            b[row] = weight[at] * goal[at]
        solution = lu_solve(a, b)
        coefficients = [solution[i] for i in range(unknowns)]
        errors = [
            weight[i] * (goal[i] - sum(c * t for c, t in zip(coefficients, powered[i]))) for i in range(len(xs))
        ]
        # The greatest error of each run of one sign.
        peaks = []
        for i, error in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > count:
            weakest = min((0, len(peaks) - 1), key=lambda end: abs(errors[peaks[end]]))
            peaks.pop(weakest)
        if len(peaks) < count:
            break
        worst = max(abs(error) for error in errors)
        if peaks == chosen or worst <= abs(solution[unknowns]) * (1 + mpf(10) ** -6):
            break
        chosen = peaks
    return coefficients, max(abs(error) for error in errors)


def reweighted(xs, goal, weight, powers, rounds=12):
    """The same by least squares, with weights that grow where the error is great (Lawson): for powers without a constant
    term, which all vanish at 0, so that errors need not alternate."""
    powered = [[weight[i] * x**p for p in powers] for i, x in enumerate(xs)]
    goals = [w * g for w, g in zip(weight, goal)]
    count = len(powers)
    share = [mpf(1) / len(xs)] * len(xs)
    best = None
    for _ in range(rounds):
        a, b = matrix(count, count), matrix(count, 1)
        for s, row, g in zip(share, powered, goals):
            for i in range(count):
                scaled = s * row[i]
                b[i] += scaled * g
                for j in range(i, count):
                    a[i, j] += scaled * row[j]
        for i in range(count):
            for j in range(i):
                a[i, j] = a[j, i]
        coefficients = list(lu_solve(a, b))
        errors = [abs(g - sum(c * t for c, t in zip(coefficients, row))) for g, row in zip(goals, powered)]
        worst = max(errors)
        if best is None or worst < best[1]:
            best = coefficients, worst
        share = [s * e for s, e in zip(share, errors)]
        total = sum(share)
        share = [s / total for s in share]
    return best


def fit(function, weight, interval, powers, bits, fixed=(), refits=3):
    """Coefficients as floats of `bits` (a number, or one for each power), and the greatest weighted error that they leave.
    `fixed` are those of the first powers that are given. After each of the first few the others are fitted again."""
    xs = grid(*interval, max(200, 16 * len(powers)))
    goal, weights = [function(x) for x in xs], [abs(weight(x)) for x in xs]
    bits = [bits] * len(powers) if isinstance(bits, int) else bits
    done = [mpf(c) for c in fixed]
    found = None
    while len(done) < len(powers):
        at = len(done)
        if found is None or at <= refits:
            rest = [g - sum(c * x**p for c, p in zip(done, powers)) for g, x in zip(goal, xs)]
            solve = reweighted if done and interval[0] < 0 < interval[1] else exchange
            found, _ = solve(xs, rest, weights, powers[at:])
        done.append(rounded(found[0], bits[at]))
        found = found[1:]
    errors = [abs(w * (g - sum(c * x**p for c, p in zip(done, powers)))) for g, w, x in zip(goal, weights, xs)]
    return done, max(errors)


def hexadecimal(x, suffix):
    """A float as C writes it exactly."""
    if x == 0:
        return "0.0" + suffix
    sign, x = ("-", -x) if x < 0 else ("", x)
    mantissa, exponent = frexp(x)
    mantissa, exponent = mantissa * 2, int(exponent) - 1
    digits = ""
    rest = mantissa - 1
    while rest:
        rest *= 16
        digits += "%x" % int(floor(rest))
        rest -= floor(rest)
    return f"{sign}0x1{'.' + digits if digits else ''}p{exponent:+d}{suffix}"
