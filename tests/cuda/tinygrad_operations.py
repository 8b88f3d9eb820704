"""tinygrad with its PTX renderer: operations and gradients against NumPy, and a training run."""

import math

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn
from tinygrad.nn.optim import Adam

assert Device.DEFAULT == "CUDA", Device.DEFAULT
assert type(Device["CUDA"].renderer).__name__ == "PTXRenderer"

random = np.random.default_rng(7)
A = random.standard_normal((5, 12)).astype(np.float32)
B = random.standard_normal((5, 12)).astype(np.float32)
P = (np.abs(A) + 0.5).astype(np.float32)
U = np.tanh(A).astype(np.float32) * 0.9
LONG = random.standard_normal((37, 333)).astype(np.float32)
ROWS = random.standard_normal((12, 9)).astype(np.float32)
BATCH = random.standard_normal((3, 5, 12)).astype(np.float32)
I = random.integers(-50, 50, (5, 12)).astype(np.int32)
J = random.integers(1, 9, (5, 12)).astype(np.int32)
IMAGE = random.standard_normal((2, 3, 8, 8)).astype(np.float32)
KERNEL = random.standard_normal((4, 3, 3, 3)).astype(np.float32)

counted = failed = 0


def check(name, found, wanted, tolerance=2e-4):
    global counted, failed
    counted += 1
    wanted = np.asarray(wanted)
    if found.shape != wanted.shape or not np.allclose(
        found.astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance, equal_nan=True
    ):
        failed += 1
        print(f"{name}: {found.ravel()[:6]} is not {wanted.ravel()[:6]}")


def run(name, operation, *inputs, wanted, tolerance=2e-4):
    global counted, failed
    try:
        found = operation(*[Tensor(value) for value in inputs]).numpy()
    except Exception as reason:
        counted, failed = counted + 1, failed + 1
        print(f"{name}: {reason!r}")
        return
    check(name, found, wanted, tolerance)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf)

# Of one number: the operation, the same in NumPy, its derivative, the input.
unary = {
    "neg": (lambda x: -x, lambda x: -x, lambda x: -np.ones_like(x), A),
    "exp": (Tensor.exp, np.exp, np.exp, A),
    "exp2": (Tensor.exp2, np.exp2, lambda x: np.exp2(x) * np.log(2), A),
    "log": (Tensor.log, np.log, lambda x: 1 / x, P),
    "log2": (Tensor.log2, np.log2, lambda x: 1 / (x * np.log(2)), P),
    "sqrt": (Tensor.sqrt, np.sqrt, lambda x: 0.5 / np.sqrt(x), P),
    "rsqrt": (Tensor.rsqrt, lambda x: x**-0.5, lambda x: -0.5 * x**-1.5, P),
    "reciprocal": (Tensor.reciprocal, lambda x: 1 / x, lambda x: -1 / x**2, P),
    "sin": (Tensor.sin, np.sin, np.cos, A),
    "cos": (Tensor.cos, np.cos, lambda x: -np.sin(x), A),
    "tan": (Tensor.tan, np.tan, lambda x: 1 / np.cos(x) ** 2, U),
    "tanh": (Tensor.tanh, np.tanh, lambda x: 1 - np.tanh(x) ** 2, A),
    "sinh": (Tensor.sinh, np.sinh, np.cosh, A),
    "cosh": (Tensor.cosh, np.cosh, np.sinh, A),
    "atanh": (Tensor.atanh, np.arctanh, lambda x: 1 / (1 - x * x), U),
    "asinh": (Tensor.asinh, np.arcsinh, lambda x: 1 / np.sqrt(1 + x * x), A),
    "acosh": (Tensor.acosh, np.arccosh, lambda x: 1 / np.sqrt(x * x - 1), P + 1),
    "asin": (Tensor.asin, np.arcsin, lambda x: 1 / np.sqrt(1 - x * x), U),
    "acos": (Tensor.acos, np.arccos, lambda x: -1 / np.sqrt(1 - x * x), U),
    "atan": (Tensor.atan, np.arctan, lambda x: 1 / (1 + x * x), A),
    "sigmoid": (Tensor.sigmoid, sigmoid, lambda x: sigmoid(x) * (1 - sigmoid(x)), A),
    "silu": (Tensor.silu, lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), A),
    "relu": (Tensor.relu, lambda x: np.maximum(x, 0), lambda x: (x > 0) * 1.0, A),
    "leaky": (Tensor.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x), lambda x: np.where(x > 0, 1, 0.01), A),
    "elu": (Tensor.elu, lambda x: np.where(x > 0, x, np.exp(x) - 1), lambda x: np.where(x > 0, 1, np.exp(x)), A),
    "softplus": (Tensor.softplus, lambda x: np.log1p(np.exp(x)), sigmoid, A),
    "softsign": (Tensor.softsign, lambda x: x / (1 + np.abs(x)), lambda x: 1 / (1 + np.abs(x)) ** 2, A),
    "square": (Tensor.square, np.square, lambda x: 2 * x, A),
    "abs": (Tensor.abs, np.abs, np.sign, A),
    "cube": (lambda x: x**3, lambda x: x**3, lambda x: 3 * x**2, A),
    "erf": (Tensor.erf, erf, lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x), A),
    "hardtanh": (Tensor.hardtanh, lambda x: np.clip(x, -1, 1), lambda x: (np.abs(x) < 1) * 1.0, A),
    "relu6": (Tensor.relu6, lambda x: np.clip(x, 0, 6), lambda x: ((x > 0) & (x < 6)) * 1.0, A * 4),
}
for name, (operation, wanted, derivative, value) in unary.items():
    run(name, operation, value, wanted=wanted(value))
    x = Tensor(value)
    check(f"gradient of {name}", operation(x).sum().gradient(x)[0].numpy(), derivative(value), 1e-3)

for name in ("floor", "ceil", "trunc", "round", "sign", "isnan", "isinf"):
    run(name, getattr(Tensor, name), A * 3, wanted=getattr(np, name)(A * 3))

# Of two numbers, with their derivatives.
binary = {
    "add": (lambda x, y: x + y, lambda x, y: (np.ones_like(x), np.ones_like(y)), A, B),
    "sub": (lambda x, y: x - y, lambda x, y: (np.ones_like(x), -np.ones_like(y)), A, B),
    "mul": (lambda x, y: x * y, lambda x, y: (y, x), A, B),
    "div": (lambda x, y: x / y, lambda x, y: (1 / y, -x / y**2), A, P),
    "pow": (lambda x, y: x**y, lambda x, y: (y * x ** (y - 1), x**y * np.log(x)), P, U),
}
for name, (operation, derivatives, left, right) in binary.items():
    run(name, operation, left, right, wanted=operation(left, right))
    run(f"{name} of a row", operation, left, right[:1], wanted=operation(left, right[:1]))
    x, y = Tensor(left), Tensor(right)
    for side, found, wanted in zip("xy", operation(x, y).sum().gradient(x, y), derivatives(left, right)):
        check(f"gradient of {name} by {side}", found.numpy(), wanted, 1e-3)
for name in ("maximum", "minimum"):
    run(name, getattr(Tensor, name), A, B, wanted=getattr(np, name)(A, B))
for name, operation in {
    "less": lambda x, y: x < y, "more": lambda x, y: x > y, "equal": lambda x, y: x == y,
    "unequal": lambda x, y: x != y, "at most": lambda x, y: x <= y, "at least": lambda x, y: x >= y,
}.items():
    run(name, operation, A.round(), B.round(), wanted=operation(A.round(), B.round()))
    run(f"{name} of integers", operation, I, J, wanted=operation(I, J))

# Integers of all widths.
for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    left, right = np.abs(I).astype(kind), J.astype(kind)
    for name, operation in {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "//": lambda x, y: x // y,
        "%": lambda x, y: x % y, "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    }.items():
        run(f"{name} of {kind.__name__}", operation, left, right, wanted=operation(left, right))
run("//", lambda x, y: x // y, I, J, wanted=I // J)
run("%", lambda x, y: x % y, I, J, wanted=I % J)
run("<<", lambda x: x << 3, J, wanted=J << 3)
run(">>", lambda x: x >> 1, J, wanted=J >> 1)
run("not", lambda x: ~x, I, wanted=~I)

# Casts.
for source in (A * 9, I):
    for kind in ("int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"):
        wanted = source.astype(getattr(np, kind + ("_" if kind == "bool" else "")))
        run(f"{source.dtype} as {kind}", lambda x: x.cast(getattr(dtypes, kind)), source, wanted=wanted, tolerance=2e-3)

# Reductions.
for name, axis in ((name, axis) for name in ("sum", "max", "min", "mean", "prod") for axis in (None, 0, 1)):
    run(f"{name} along {axis}", lambda x: getattr(x, name)(axis=axis), A, wanted=getattr(np, name)(A, axis=axis))
for name in ("sum", "max", "mean"):
    run(f"{name} of much", getattr(Tensor, name), LONG, wanted=getattr(np, name)(LONG), tolerance=1e-3)
    run(f"{name} of long rows", lambda x: getattr(x, name)(axis=1), LONG, wanted=getattr(np, name)(LONG, axis=1), tolerance=1e-3)
run("variance", lambda x: x.var(axis=1), A, wanted=A.var(axis=1, ddof=1))
run("deviation", lambda x: x.std(axis=0), A, wanted=A.std(axis=0, ddof=1))
run("argmax", lambda x: x.argmax(1), A, wanted=A.argmax(1))
run("argmin", lambda x: x.argmin(0), A, wanted=A.argmin(0))
run("cumsum", lambda x: x.cumsum(1), LONG, wanted=LONG.cumsum(1), tolerance=1e-3)
run("all", lambda x: (x > -9).all(), A, wanted=(A > -9).all())
run("any", lambda x: (x > 9).any(), A, wanted=(A > 9).any())
run("sort", lambda x: x.sort(1)[0], A, wanted=np.sort(A, 1))
softmax = np.exp(LONG) / np.exp(LONG).sum(1, keepdims=True)
run("softmax", lambda x: x.softmax(1), LONG, wanted=softmax)
run("log of softmax", lambda x: x.log_softmax(1), LONG, wanted=np.log(softmax))
run("log of sums", lambda x: x.logsumexp(1), LONG, wanted=np.log(np.exp(LONG).sum(1)))
normed = (LONG - LONG.mean(1, keepdims=True)) / np.sqrt(LONG.var(1, keepdims=True) + 1e-5)
run("layer norm", lambda x: x.layernorm(), LONG, wanted=normed, tolerance=1e-3)

# Shapes.
run("transpose", lambda x: x.T.contiguous(), A, wanted=A.T)
run("reshape", lambda x: x.reshape(3, 4, 5).permute(2, 0, 1).contiguous(), A, wanted=A.reshape(3, 4, 5).transpose(2, 0, 1))
run("pad", lambda x: x.pad(((1, 2), (0, 3))), A, wanted=np.pad(A, ((1, 2), (0, 3))))
run("flip", lambda x: x.flip(1).contiguous(), A, wanted=A[:, ::-1])
run("slice", lambda x: x[1:4, 2:11:3].contiguous(), A, wanted=A[1:4, 2:11:3])
run("cat", lambda x, y: x.cat(y, dim=1), A, B, wanted=np.concatenate((A, B), 1))
run("stack", lambda x, y: x.stack(y), A, B, wanted=np.stack((A, B)))
run("expand", lambda x: x[:1].expand(4, 12).contiguous(), A, wanted=np.broadcast_to(A[:1], (4, 12)))
run("repeat", lambda x: x.repeat(2, 3), A, wanted=np.tile(A, (2, 3)))
run("where", lambda x, y: (x > y).where(x, y * 2), A, B, wanted=np.where(A > B, A, B * 2))
run("clip", lambda x: x.clip(-0.5, 0.5), A, wanted=A.clip(-0.5, 0.5))
run("lower", lambda x: x.tril(), A, wanted=np.tril(A))
run("upper", lambda x: x.triu(1), A, wanted=np.triu(A, 1))
run("rows by index", lambda x: x[Tensor([3, 0, 3, 1])], A, wanted=A[[3, 0, 3, 1]])
run("gather", lambda x: x.gather(1, Tensor(J)), A, wanted=np.take_along_axis(A, J, 1))
run("one hot", lambda x: x.one_hot(9), J, wanted=np.eye(9)[J])
run("arange", lambda x: x + Tensor.arange(12), A, wanted=A + np.arange(12))

# Products and convolutions, with their derivatives.
run("matmul", lambda x, y: x @ y, A, ROWS, wanted=A @ ROWS)
run("batches", lambda x, y: x @ y, BATCH, ROWS, wanted=BATCH @ ROWS)
run("large matmul", lambda x, y: x @ y.T, LONG, LONG, wanted=LONG @ LONG.T, tolerance=1e-2)
run("dot", lambda x, y: x.dot(y), LONG[0], LONG[1], wanted=LONG[0] @ LONG[1], tolerance=1e-3)
run("einsum", lambda x, y: Tensor.einsum("bij,jk->bik", x, y), BATCH, ROWS, wanted=np.einsum("bij,jk->bik", BATCH, ROWS))
x, y = Tensor(A), Tensor(ROWS)
by_x, by_y = ((x @ y) ** 2).sum().gradient(x, y)
check("gradient of matmul by x", by_x.numpy(), 2 * (A @ ROWS) @ ROWS.T, 1e-3)
check("gradient of matmul by y", by_y.numpy(), A.T @ (2 * (A @ ROWS)), 1e-3)


def convolved(image, kernel):
    out = np.zeros((image.shape[0], kernel.shape[0], image.shape[2] - 2, image.shape[3] - 2), np.float32)
    for row in range(out.shape[2]):
        for column in range(out.shape[3]):
            window = image[:, :, row : row + 3, column : column + 3]
            out[:, :, row, column] = np.tensordot(window, kernel, ([1, 2, 3], [1, 2, 3]))
    return out


run("convolution", lambda x, k: x.conv2d(k), IMAGE, KERNEL, wanted=convolved(IMAGE, KERNEL), tolerance=1e-3)
padded = np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (1, 1)))
run("padded convolution", lambda x, k: x.conv2d(k, padding=1), IMAGE, KERNEL, wanted=convolved(padded, KERNEL), tolerance=1e-3)
blocks = IMAGE.reshape(2, 3, 4, 2, 4, 2)
run("pool", lambda x: x.max_pool2d(), IMAGE, wanted=blocks.max((3, 5)))
run("average pool", lambda x: x.avg_pool2d(), IMAGE, wanted=blocks.mean((3, 5)))
k = Tensor(KERNEL)
by_kernel = Tensor(IMAGE).conv2d(k).sum().gradient(k)[0]
windows = np.lib.stride_tricks.sliding_window_view(IMAGE, (3, 3), (2, 3)).sum((0, 2, 3))
check("gradient of convolution", by_kernel.numpy(), np.broadcast_to(windows, KERNEL.shape), 1e-3)

print(f"{counted} operations and gradients, {failed} failed")
assert counted >= 200 and failed == 0

# A training run: whether points lie in a ring. The step is captured as a graph after its first runs.
Tensor.manual_seed(3)
points = random.uniform(-1, 1, (512, 2)).astype(np.float32)
inside = (np.abs((points**2).sum(1) - 0.5) < 0.25).astype(np.int32)


class Model:
    def __init__(self):
        self.first, self.second, self.third = nn.Linear(2, 32), nn.Linear(32, 32), nn.Linear(32, 2)

    def __call__(self, x):
        return self.third(self.second(self.first(x).tanh()).tanh())


model = Model()
optimizer = Adam(nn.state.get_parameters(model), lr=0.02)
given, truth = Tensor(points).realize(), Tensor(inside).realize()


@TinyJit
def step():
    optimizer.zero_grad()
    loss = model(given).sparse_categorical_crossentropy(truth).backward()
    return loss.realize(*optimizer.schedule_step())


with Context(TRAINING=1):
    losses = [step().item() for _ in range(150)]
found = model(given).argmax(1).numpy()
right = (found == inside).mean()
print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}, {right:.0%} right")
assert losses[-1] < losses[0] / 2 and right > 0.9
print("passed")
