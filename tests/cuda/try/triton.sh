#!/usr/bin/env bash
# Triton's kernels on the CUDA driver: triton.sh PYTHON DRIVER-FOLDER FOLDER
set -euo pipefail
python=$1 driver=$2 dir=$3
package=triton==3.9.0

if [ "$(cat "$dir/installed.txt" 2>/dev/null)" != "$package" ]; then
  rm -rf "$dir"
  mkdir -p "$dir"
  "$python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --target "$dir/packages" "$package"
  echo "$package" >"$dir/installed.txt"
fi
# It compiles a launcher in C by the headers of Python, and looks for the driver where this says.
PYTHONPATH=$dir/packages TRITON_PTXAS_PATH=$driver/ptxas TRITON_LIBCUDA_PATH=$driver TRITON_CACHE_DIR=$dir/cache \
  TRITON_DEFAULT_FP_FUSION=1 timeout 600 "$python" tests/cuda/try/triton_kernels.py
