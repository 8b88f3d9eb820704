#!/bin/sh
# OpenCL jobs on the CPUs of a cluster: one task of the array per part of the input.
#   python -m heddle cache warm kernels.cl && python -m heddle cache export /shared/heddle-cache     # once, on a node of this kind
#   sbatch slurm_array.sh
#SBATCH --array=0-99
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
# Nodes read the shared cache and write their own; Heddle takes as many threads as the task has CPUs.
export HEDDLE_CACHE_SEED=/shared/heddle-cache
export HEDDLE_CACHE_DIR=${TMPDIR:-/tmp}/heddle-$SLURM_JOB_ID
exec python -m heddle run ./opencl_job "$SLURM_ARRAY_TASK_ID"
