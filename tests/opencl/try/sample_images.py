"""Plugin of pytest: images of `scipy.datasets`, which would be downloaded, are computed."""

import numpy as np
import scipy.datasets
from scipy.ndimage import gaussian_filter


def ascent():
    """Returns 512 x 512 bytes with smooth parts and an edge."""
    smooth = gaussian_filter(np.random.default_rng(5).random((512, 512)), 3)
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    smooth[100:180, 200:300] += 0.5
    return (smooth * 160).astype(np.uint8)


def face(gray=False):
    """Returns 768 x 1024 bytes or colours."""
    image = np.kron(ascent(), np.ones((2, 2), np.uint8))[:768, :1024]
    return image if gray else np.stack([image, image[::-1], image[:, ::-1]], -1)


scipy.datasets.ascent = ascent
scipy.datasets.face = face
