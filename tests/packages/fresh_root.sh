#!/bin/sh
# Installs the wheel in an environment of a system without compiler and LLVM, and runs programs of all interfaces.
# usage: fresh_root.sh FOLDER, which holds `wheels` (with Heddle's) and these programs
set -eu
here=$1
export HOME=$here/home PIP_DISABLE_PIP_VERSION_CHECK=1
unset LD_LIBRARY_PATH OCL_ICD_VENDORS HEDDLE_CACHE_DIR
rm -rf "$HOME" "$here/venv"
mkdir -p "$HOME"
cd "$here"
for tool in cc gcc clang clang-22 ld ldconfig-llvm llvm-config-22; do
  ! command -v $tool >/dev/null || { echo "this root has $tool"; exit 1; }
done
[ -z "$(find / -xdev \( -name 'libLLVM*' -o -name 'libclang*' -o -name 'libOpenCL*' \) -not -path '*/site-packages/*' 2>/dev/null)" ] ||
  { echo 'this root has LLVM, clang or a loader of OpenCL'; exit 1; }
seconds() { date +%s.%N; }
python3 -m venv venv
start=$(seconds)
venv/bin/pip install --quiet --no-index --find-links wheels heddle-simd pyopencl numpy
installed=$(seconds)
venv/bin/python first_result.py
first=$(seconds)
venv/bin/python first_result.py
second=$(seconds)
awk "BEGIN { printf \"pip %.1f s, first result %.2f s, again %.2f s\n\", $installed - $start, $first - $installed, $second - $first }"
venv/bin/pip install --quiet --no-index --find-links wheels --no-deps numba numba-cuda llvmlite cuda-bindings cuda-core cuda-pathfinder \
  cuda-python packaging tinygrad nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
venv/bin/python -m unittest discover --quiet --start-directory python_tests
venv/bin/heddle run numba_kernel.py
DEV=CL venv/bin/heddle run tinygrad_sum.py
DEV=CUDA:PTX venv/bin/heddle run tinygrad_sum.py
venv/bin/python neighbours.py
venv/bin/heddle doctor
venv/bin/heddle clc kernel.cl --report | head -3
# What `install` and pip wrote, both take away.
venv/bin/python -m heddle install --venv >/dev/null
venv/bin/python -m heddle uninstall >/dev/null
venv/bin/pip uninstall --quiet --yes heddle-simd
left=$(find venv -iname '*heddle*')
[ -z "$left" ] || { echo "files stay: $left"; exit 1; }
venv/bin/python -c 'import pyopencl'
cd "$here/user_documents"
../venv/bin/python ../new_user.py ../wheels ../users README.md python/README.md docs/howto/python.md docs/howto/ci.md examples/ci/github.yml
echo 'fresh root passed'
