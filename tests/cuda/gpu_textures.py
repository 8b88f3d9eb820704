"""How a driver rounds the weights of a linear filter, weighs texels and finds the nearest one: textures of one dimension.

    python3 tests/cuda/gpu_textures.py [FILE]

FILE gets all samples as JSON.
"""

import ctypes
import json
import math
import struct
import sys

from gpu import Driver

KERNEL = """.version 7.0
.target sm_75
.address_size 64
.visible .entry sample(.param .u64 texture, .param .u64 at, .param .u64 out)
{
	.reg .f32 %f<5>;
	.reg .b32 %r<4>;
	.reg .b64 %d<6>;
	ld.param.u64 %d0, [texture];
	ld.param.u64 %d1, [at];
	ld.param.u64 %d2, [out];
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ntid.x;
	mov.u32 %r2, %tid.x;
	mad.lo.u32 %r3, %r0, %r1, %r2;
	mul.wide.u32 %d3, %r3, 4;
	add.s64 %d4, %d1, %d3;
	add.s64 %d5, %d2, %d3;
	ld.global.f32 %f0, [%d4];
	tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d0, {%f0}];
	st.global.f32 [%d5], %f1;
	ret;
}
"""
WRAP, CLAMP, MIRROR, BORDER = range(4)
NEAREST, LINEAR = range(2)


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


class Textures:
    def __init__(self):
        self.driver = Driver()
        self.all = []
        self.function = self.driver.function(self.driver.load(KERNEL), "sample")

    def sample(self, texels, coordinates, mode, filter, normalized):
        """The samples of a texture of singles at these coordinates, as many as blocks of 64 have."""
        driver, count = self.driver, len(coordinates)
        array = ctypes.c_void_p()
        driver.check("cuArrayCreate_v2", ctypes.byref(array), struct.pack("<QQiI", len(texels), 0, 0x20, 1))
        content = struct.pack(f"<{len(texels)}f", *texels)
        driver.check("cuMemcpyHtoA_v2", array, ctypes.c_size_t(0), content, ctypes.c_size_t(len(content)))
        resource = struct.pack("<iiQ", 0, 0, array.value).ljust(144, b"\0")
        modes = struct.pack("<4i2Ii3f4f", mode, mode, mode, filter, 2 if normalized else 0, 0, 0, 0, 0, 0, -1, -1, -1, -1)
        texture = ctypes.c_uint64()
        driver.check("cuTexObjectCreate", ctypes.byref(texture), resource, modes.ljust(104, b"\0"), None)
        at, out = driver.allocate(4 * count), driver.allocate(4 * count)
        driver.write(at.value, struct.pack(f"<{count}f", *coordinates))
        args = [value.to_bytes(16, "little") for value in (texture.value, at.value, out.value)]
        driver.launch(self.function, [count // 64, 1, 1], [64, 1, 1], 0, args)
        driver.wait()
        found = struct.unpack(f"<{count}f", driver.read(out.value, 4 * count))
        driver.free(at)
        driver.free(out)
        driver.check("cuTexObjectDestroy", texture)
        driver.check("cuArrayDestroy", array)
        self.all.append([list(texels), list(coordinates), mode, filter, normalized, list(found)])
        return list(found)


ROUNDINGS = {
    "to nearest, ties to even": lambda x: round(x * 256) / 256,
    "to nearest, ties up": lambda x: math.floor(x * 256 + 0.5) / 256,
    "down": lambda x: math.floor(x * 256) / 256,
}


def agreement(title, found, expected, coordinates):
    """Prints how many samples are as each rule says, and the first that is not."""
    for rule, wanted in expected.items():
        wrong = [index for index, (got, want) in enumerate(zip(found, wanted)) if got != want]
        first = ""
        if wrong:
            index = wrong[0]
            first = f"; at {coordinates[index]!r}: {found[index]!r}, not {wanted[index]!r}"
        print(f"{title}; {rule}: {len(found) - len(wrong)} of {len(found)}{first}")


def weights(textures):
    """Between texels 0 and 1 a sample is the weight of the second one."""
    fractions = [index / 8192 for index in range(8192)]
    for normalized in (False, True):
        coordinates = [(0.5 + fraction) / (2 if normalized else 1) for fraction in fractions]
        found = textures.sample([0.0, 1.0], coordinates, CLAMP, LINEAR, normalized)
        expected = {rule: [round_(fraction) for fraction in fractions] for rule, round_ in ROUNDINGS.items()}
        agreement("weights" + (", normalized" if normalized else ""), found, expected, coordinates)
    # Far from zero, where a single has fewer fractions.
    coordinates = [100.5 + index / 1024 for index in range(1024)]
    found = textures.sample([float(index % 2) for index in range(128)], coordinates, CLAMP, LINEAR, False)
    expected = {rule: [round_(index / 1024) for index in range(1024)] for rule, round_ in ROUNDINGS.items()}
    agreement("weights at 100", found, expected, coordinates)


def weighing(textures):
    """How two texels are weighed, with weights of which all rules say the same."""
    for low, high in ((3.3, 7.7), (-1e8, 1e-3), (1 / 3, -2 / 3), (1e30, 1e29), (0.1, 0.1)):
        low, high = single(low), single(high)
        coordinates = [0.5 + index / 256 for index in range(256)]
        found = textures.sample([low, high], coordinates, CLAMP, LINEAR, False)
        parts = [index / 256 for index in range(256)]
        expected = {
            "exact, rounded": [single(low * (1 - part) + high * part) for part in parts],
            "rounded products": [single(single(low * (1 - part)) + single(high * part)) for part in parts],
            "low + part * (high - low)": [single(low + single(part * single(high - low))) for part in parts],
        }
        agreement(f"weighing {low:.6g} and {high:.6g}", found, expected, coordinates)


def nearest(textures):
    """The texel that is nearest to a coordinate just below its edge."""
    texels = [float(index) for index in range(64)]
    for normalized in (False, True):
        for edge in (1, 5, 33, 60):
            coordinates = [single(edge - 2.0**-power) / (64 if normalized else 1) for power in range(1, 65)]
            found = textures.sample(texels, coordinates, CLAMP, NEAREST, normalized)
            expected = {"the floor of the single": [math.floor(single(at) * (64 if normalized else 1)) for at in coordinates]}
            agreement(f"nearest below {edge}" + (", normalized" if normalized else ""), found, expected, coordinates)


def mirrored(textures):
    """Mirrored and wrapped coordinates, at edges of texels and between them."""
    texels = [float(index) for index in range(8)]
    coordinates = [(index - 512) / 128 for index in range(1024)]

    def mirror(at):
        fraction = at - math.floor(at)
        fraction = 1 - fraction if math.floor(at) % 2 else fraction
        return texels[min(max(math.floor(fraction * 8), 0), 7)]

    found = textures.sample(texels, coordinates, MIRROR, NEAREST, True)
    by_index = [texels[index if index < 8 else 15 - index] for index in (math.floor(at * 8) % 16 for at in coordinates)]
    expected = {"1 - frac(x) where floor(x) is odd": [mirror(at) for at in coordinates], "the index is mirrored": by_index}
    agreement("mirrored", found, expected, coordinates)
    found = textures.sample(texels, coordinates, WRAP, NEAREST, True)
    expected = {"frac(x)": [texels[math.floor((at - math.floor(at)) * 8)] for at in coordinates]}
    agreement("wrapped", found, expected, coordinates)
    found = textures.sample(texels, [8 * at for at in coordinates], MIRROR, NEAREST, False)
    expected = {"clamped": [texels[min(max(math.floor(8 * at), 0), 7)] for at in coordinates], "mirrored": by_index}
    agreement("mirrored, not normalized", found, expected, coordinates)


def main():
    try:
        textures = Textures()
    except OSError:
        print("not run: no libcuda")
        return
    for part in (weights, weighing, nearest, mirrored):
        part(textures)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as file:
            json.dump(textures.all, file)


if __name__ == "__main__":
    sys.exit(main())
