"""Compiles kernels by NVRTC: nvrtc.py LIBRARY FOLDER TAG FILE…

Writes FOLDER/NAME.TAG-O3.ptx, with lines, and FOLDER/NAME.TAG-O0.ptx, for a debugger.
"""

import ctypes
import pathlib
import sys

library, folder, tag = ctypes.CDLL(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
files = [pathlib.Path(name) for name in sys.argv[4:]]


def text(program, what):
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, buffer)
    return buffer.value


for file in files:
    header = (file.parent / "device.cuh").read_bytes()
    headers, names = (ctypes.c_char_p * 1)(header), (ctypes.c_char_p * 1)(b"device.cuh")
    for level, option in ("O3", b"-lineinfo"), ("O0", b"-G"):
        program = ctypes.c_void_p()
        name = file.name.encode()
        library.nvrtcCreateProgram(ctypes.byref(program), file.read_bytes(), name, 1, headers, names)
        options = [b"--gpu-architecture=compute_80", b"-fmad=false", b"-std=c++17", option]
        if library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
            sys.exit(f"{file.name}: {text(program, 'ProgramLog').decode()}")
        (folder / f"{file.stem}.{tag}-{level}.ptx").write_bytes(text(program, "PTX"))
        library.nvrtcDestroyProgram(ctypes.byref(program))
