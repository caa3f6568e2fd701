#!/usr/bin/env bash
# Installs the requirements of the peers that cargo does not fetch: cmake, libclang and SuiteSparse (Debian), the source of
# LSODA, and heyoka.py (PyPI). If one is missing, the benchmark leaves out its peer and reports that.
set -u
cd "$(dirname "$0")"
command -v cmake >/dev/null && [ -e /usr/include/suitesparse/klu.h ] && ls /usr/lib/llvm-*/lib/libclang*.so* >/dev/null 2>&1 ||
  apt-get install -y cmake libclang-dev libsuitesparse-dev || echo "CVODE or KLU will not build" >&2
if [ ! -e peers/lsoda/LSODA.cpp ]; then
  mkdir -p peers/lsoda
  folder=$(mktemp -d)
  python3 -m pip download -q --no-deps -d "$folder" numbalsoda==0.3.4
  tar xzf "$folder"/*.tar.gz -C "$folder" && cp "$folder"/numbalsoda-*/src/{LSODA.cpp,LSODA.h,helper.h} peers/lsoda/ || echo "no LSODA" >&2
  rm -rf "$folder"
fi
if [ ! -x peers/heyoka/bin/python ]; then
  python3 -m venv peers/heyoka && peers/heyoka/bin/python -m pip install -q heyoka==7.13.2 numpy || { echo "no heyoka" >&2; rm -rf peers/heyoka; }
fi
