"""A program of a user that documents start: it uses the drivers that its surroundings have."""

import ctypes
import os

driver = ctypes.CDLL("libcuda.so.1") if os.environ.get("LD_LIBRARY_PATH") else None
if driver is not None:
    name, device = ctypes.create_string_buffer(100), ctypes.c_int()
    assert driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert driver.cuDeviceGetName(name, 100, device) == 0
    assert b"Heddle" in name.value, name.value
if os.environ.get("OCL_ICD_VENDORS") or driver is None:
    import pyopencl as cl

    assert "Heddle" in [platform.name for platform in cl.get_platforms()]
