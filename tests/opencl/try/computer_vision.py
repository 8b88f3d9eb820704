"""OpenCV's filters on OpenCL, compared with the same calls on the host: integers may differ by 1, others by a thousandth of the largest."""

import os

# Before the import, which reads them.
os.environ.setdefault("OPENCV_OPENCL_DEVICE", ":CPU:")
os.environ.setdefault("OPENCV_OPENCL_CACHE_ENABLE", "0")

import cv2
import numpy as np

WIDTH, HEIGHT = 641, 480
random = np.random.default_rng(1)
gray, other = (random.integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8) for _ in range(2))
color = random.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
real = random.random((HEIGHT, WIDTH), dtype=np.float32)
columns, rows = np.meshgrid(np.arange(WIDTH, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))
smooth = cv2.GaussianBlur(gray, (0, 0), 3)
images = {
    "gray": gray,
    "other": other,
    "color": color,
    "real": real,
    "smooth": smooth,
    "patch": gray[100:130, 200:240].copy(),
    "small": gray[:100, :120].copy(),
    "x": columns + 3 * np.sin(rows / 20),
    "y": rows,
    "square": random.random((256, 256), dtype=np.float32),
    "table": random.integers(0, 256, 256, dtype=np.uint8),
}
turn = cv2.getRotationMatrix2D((WIDTH / 2, HEIGHT / 2), 17, 0.8)
tilt = np.array([[1.02, 0.05, 3], [0.01, 0.97, -4], [1e-5, 2e-5, 1]])
cross = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
box = np.ones((5, 5), np.uint8)

FILTERS = {
    "Gaussian blur": lambda i: cv2.GaussianBlur(i["color"], (5, 5), 1.1),
    "box": lambda i: cv2.boxFilter(i["real"], -1, (9, 9)),
    "median of 3": lambda i: cv2.medianBlur(i["gray"], 3),
    "median of 5": lambda i: cv2.medianBlur(i["gray"], 5),
    "bilateral": lambda i: cv2.bilateralFilter(i["gray"], 9, 50, 50),
    "Sobel": lambda i: cv2.Sobel(i["gray"], cv2.CV_16S, 1, 0),
    "Laplacian": lambda i: cv2.Laplacian(i["gray"], cv2.CV_16S, ksize=3),
    "erosion": lambda i: cv2.erode(i["gray"], box),
    "dilation": lambda i: cv2.dilate(i["color"], box),
    "gradient": lambda i: cv2.morphologyEx(i["gray"], cv2.MORPH_GRADIENT, box),
    "gray": lambda i: cv2.cvtColor(i["color"], cv2.COLOR_BGR2GRAY),
    "HSV": lambda i: cv2.cvtColor(i["color"], cv2.COLOR_BGR2HSV),
    "Lab": lambda i: cv2.cvtColor(i["color"], cv2.COLOR_BGR2Lab),
    "linear resize": lambda i: cv2.resize(i["gray"], (320, 200)),
    "nearest resize": lambda i: cv2.resize(i["color"], (500, 500), interpolation=cv2.INTER_NEAREST),
    "resize by areas": lambda i: cv2.resize(i["gray"], (213, 160), interpolation=cv2.INTER_AREA),
    "affine warp": lambda i: cv2.warpAffine(i["gray"], turn, (WIDTH, HEIGHT)),
    "perspective": lambda i: cv2.warpPerspective(i["gray"], tilt, (WIDTH, HEIGHT)),
    "remap": lambda i: cv2.remap(i["gray"], i["x"], i["y"], cv2.INTER_LINEAR),
    "threshold": lambda i: cv2.threshold(i["gray"], 100, 255, cv2.THRESH_BINARY)[1],
    "Canny": lambda i: cv2.Canny(i["smooth"], 20, 60),
    "equalized": lambda i: cv2.equalizeHist(i["gray"]),
    "CLAHE": lambda i: cv2.createCLAHE(2.0, (8, 8)).apply(i["gray"]),
    "histogram": lambda i: cv2.calcHist([i["gray"]], [0], None, [256], [0, 256]),
    "integral": lambda i: cv2.integral(i["gray"]),
    "pyramid down": lambda i: cv2.pyrDown(i["gray"]),
    "pyramid up": lambda i: cv2.pyrUp(i["gray"]),
    "convolution": lambda i: cv2.filter2D(i["gray"], -1, cross),
    "sum": lambda i: cv2.add(i["gray"], i["other"]),
    "quotient": lambda i: cv2.divide(i["gray"], i["other"]),
    "exponential": lambda i: cv2.exp(i["real"]),
    "power": lambda i: cv2.pow(i["real"], 2.3),
    "phase": lambda i: cv2.phase(i["real"], i["x"]),
    "least and largest": lambda i: np.array(cv2.minMaxLoc(i["real"])[:2]),
    "norm": lambda i: np.array(cv2.norm(i["gray"], i["other"])),
    "reduction": lambda i: cv2.reduce(i["gray"], 0, cv2.REDUCE_SUM, dtype=cv2.CV_32S),
    "mirror": lambda i: cv2.flip(i["gray"], 1),
    "rotation": lambda i: cv2.rotate(i["color"], cv2.ROTATE_90_CLOCKWISE),
    "table": lambda i: cv2.LUT(i["gray"], i["table"]),
    "matrix product": lambda i: cv2.gemm(i["square"], i["square"], 1, None, 0),
    "template": lambda i: cv2.matchTemplate(i["gray"], i["patch"], cv2.TM_CCOEFF_NORMED),
    "Harris corners": lambda i: cv2.cornerHarris(i["gray"], 2, 3, 0.04),
    "denoising": lambda i: cv2.fastNlMeansDenoising(i["small"], None, 5, 5, 11),
    "background": lambda i: cv2.createBackgroundSubtractorMOG2(detectShadows=False).apply(i["color"]),
}


def difference(found, wanted):
    """Returns the largest difference, and true if it is rounding. A difference that is no number is not."""
    wanted = np.asarray(wanted)
    found = np.asarray(found, dtype=np.float64).reshape(wanted.shape)
    largest = np.abs(found - wanted).max()
    may_step = np.issubdtype(wanted.dtype, np.integer) and largest <= 1
    return largest, may_step or largest <= 1e-3 * np.abs(wanted).max()


def main():
    """Runs each filter on the device and on the host."""
    # Without a device OpenCV computes on the host.
    assert cv2.ocl.haveOpenCL() and cv2.ocl.Device.getDefault().name(), "OpenCV finds no device"
    device = {name: cv2.UMat(image) for name, image in images.items()}
    wrong = []
    for name, run in FILTERS.items():
        cv2.ocl.setUseOpenCL(False)
        wanted = run(images)
        cv2.ocl.setUseOpenCL(True)
        found = run(device)
        found = found.get() if isinstance(found, cv2.UMat) else found
        largest, is_rounding = difference(found, wanted)
        if not is_rounding:
            wrong.append(f"{name}: {largest:g}")
    cv2.ocl.finish()
    print(f"{len(FILTERS)} filters on {cv2.ocl.Device.getDefault().name()}")
    print("filters differ: " + ", ".join(wrong) if wrong else "filters agree")


main()
