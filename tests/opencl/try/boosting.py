"""LightGBM trains on the CPU and by OpenCL; the predictions are the same."""

import lightgbm
import numpy as np

random = np.random.default_rng(1)
samples = random.random((20000, 30)).astype(np.float32)
labels = (samples[:, 0] * 3 + np.sin(samples[:, 1] * 9) + random.normal(0, 0.1, len(samples)) > 2).astype(int)
options = dict(objective="binary", num_leaves=63, max_bin=63, verbosity=-1, gpu_use_dp=True, num_threads=2, seed=1, deterministic=True)
by_device = [lightgbm.train({**options, "device_type": device}, lightgbm.Dataset(samples, labels), 30).predict(samples) for device in ("gpu", "cpu")]
assert np.abs(by_device[0] - by_device[1]).max() < 1e-6
print("predictions agree")
