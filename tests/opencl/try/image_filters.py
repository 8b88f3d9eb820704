"""Filters of pyclesperanto on a volume, against SciPy."""

import numpy as np
import pyclesperanto as cle
from scipy import ndimage

volume = np.random.default_rng(0).random((40, 120, 100)).astype(np.float32)
blurred = np.asarray(cle.gaussian_blur(volume, sigma_x=2, sigma_y=2, sigma_z=1))
inside = (slice(8, -8),) * 3
assert np.abs(blurred - ndimage.gaussian_filter(volume, (1, 2, 2), truncate=4))[inside].max() < 2e-3
assert np.array_equal(np.asarray(cle.greater_constant(volume, scalar=0.9)) != 0, volume > 0.9)
median = np.asarray(cle.median(volume, radius_x=1, radius_y=1, radius_z=1, connectivity="box"))
assert np.array_equal(median[inside], ndimage.median_filter(volume, 3)[inside])
least = np.asarray(cle.minimum_filter(volume, radius_x=1, radius_y=1, radius_z=1, connectivity="box"))
assert np.array_equal(least[inside], ndimage.minimum_filter(volume, 3)[inside])
spots = (blurred > blurred.mean() + 0.03).astype(np.uint8)
labels = np.asarray(cle.connected_component_labeling(cle.push(spots), connectivity="box"))
assert labels.max() == ndimage.label(spots, np.ones((3, 3, 3)))[1]
assert abs(cle.sum_of_all_pixels(cle.push(volume)) / volume.sum(dtype=np.float64) - 1) < 1e-5
print("filters agree")
