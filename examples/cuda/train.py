"""tinygrad trains a small network to tell two spirals apart. `DEV=CUDA:PTX` has it write PTX for the CUDA driver."""

import time

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.nn.optim import Adam

random = np.random.default_rng(3)
turns = np.sqrt(random.random((2, 500))) * 3 * np.pi
angles = turns + np.array([[0], [np.pi]])
points = np.stack([turns * np.cos(angles), turns * np.sin(angles)], -1).reshape(-1, 2)
points += random.standard_normal(points.shape) * 0.2
inputs = Tensor((points / 10).astype(np.float32))
labels = Tensor(np.repeat([0, 1], 500).astype(np.int32))


class Network:
    def __init__(self):
        self.first, self.second, self.last = nn.Linear(2, 64), nn.Linear(64, 64), nn.Linear(64, 2)

    def __call__(self, x):
        return self.last(self.second(self.first(x).tanh()).tanh())


Tensor.manual_seed(1)
network = Network()
optimizer = Adam(nn.state.get_parameters(network), lr=0.01)


@TinyJit
def step():
    optimizer.zero_grad()
    loss = network(inputs).sparse_categorical_crossentropy(labels).backward()
    return loss.realize(*optimizer.schedule_step())


start = time.perf_counter()
for number in range(151):
    with Context(TRAINING=1):
        loss = step().item()
    if number % 50 == 0:
        right = (network(inputs).argmax(-1) == labels).mean().item()
        print(f"step {number:3}: loss {loss:.3f}, {100 * right:.1f} % right")
print(f"{time.perf_counter() - start:.1f} s on {Device.DEFAULT}")
assert right > 0.9, "the network has not learned"
