#!/usr/bin/env bash
# CuPy on the CUDA driver: cupy.sh DRIVER-FOLDER FOLDER
#
# CuPy's wheels hold NVIDIA's runtime, which asks a driver for undocumented tables. So it is built from its source, which takes ten minutes,
# with a toolkit whose runtime and libraries are Heddle's.
set -euo pipefail
driver=$1 dir=$2
package=cupy==14.2.0
toolkit=$dir/toolkit

if [ "$(cat "$dir/installed.txt" 2>/dev/null)" != "$package" ]; then
  rm -rf "$dir"
  mkdir -p "$dir"
  python3 -m venv "$dir/python"
  pip=("$dir/python/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir)
  echo "cupy: bringing NVIDIA's compiler and headers (2 GB)"
  "${pip[@]}" -r tests/cuda/try/cupy.txt
  wheels=$(echo "$dir"/python/lib/python3*/site-packages/nvidia/cu13)
  find "$wheels/lib" -name 'libcu[bfrs][a-z]*' ! -name 'libcudart*' -delete
  rm -f "$wheels"/lib/libnvblas* "$wheels"/lib/libcudart*
  chmod -R u+x "$wheels/bin" "$wheels/nvvm/bin"
  mkdir -p "$toolkit/lib64"
  cp -rs "$wheels/bin" "$wheels/nvvm" "$wheels/include" "$toolkit"
  ln -s "$wheels"/lib/* "$driver"/lib*.so* "$driver/libcudart_static.a" "$toolkit/lib64"
  ln -s libcudart.so.13 "$toolkit/lib64/libcudart.so"
  ln -s libnvrtc.so.13 "$toolkit/lib64/libnvrtc.so"
  ln -s lib64 "$toolkit/lib"
  # Nothing calls this library, but it is opened before others.
  cc -shared -x c /dev/null -o "$toolkit/lib64/libcublasLt.so.13"
  echo "cupy: building (ten minutes)"
  CUDA_PATH=$toolkit PATH=$dir/python/bin:$toolkit/bin:$PATH LD_LIBRARY_PATH=$driver CFLAGS="-O1 -w" CPLUS_INCLUDE_PATH=$wheels/include/cccl \
    NVCC=$toolkit/bin/nvcc NVCC_APPEND_FLAGS="-L$toolkit/lib64" CUPY_NVCC_GENERATE_CODE="arch=compute_80,code=compute_80" \
    CUPY_NUM_BUILD_JOBS=$(nproc) "${pip[@]}" --no-build-isolation --no-deps --no-binary :all: "$package"
  echo "$package" >"$dir/installed.txt"
fi
# NVIDIA's compiler makes machine code by default.
CUDA_PATH=$toolkit LD_LIBRARY_PATH=$driver CUPY_COMPILE_WITH_PTX=1 CUPY_CACHE_DIR=$dir/cache timeout 1200 \
  "$dir/python/bin/python" tests/cuda/try/cupy_arrays.py
