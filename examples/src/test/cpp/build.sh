#!/bin/sh
# Compiles a cuBLAS for tests, which needs the CUDA runtime for tests: build.sh <folder of libcudart.so.11.0> <target folder>
set -e
here=$(dirname "$0")
mkdir -p "$2"
library() { # name, what it exports, options of g++
    name=$1
    printf '%s { global: %s; local: *; };\n' "$name" "$2" > "$work/$name.map"
    shift 2
    g++ -std=c++17 -O2 -fPIC -shared -static-libstdc++ -static-libgcc -Wall -Wextra -Wl,-soname,"$name" -Wl,--version-script="$work/$name.map" \
        -o "$target/$name" "$@"
}
target=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'extern "C" int cublasLtGetVersion() { return 0; }' > "$work/lt.cpp"
library libcublasLt.so.11 'cublasLt*' "$work/lt.cpp"
library libcublas.so.11 'cublas*' "$here/fakecublas.cpp" -L"$1" -l:libcudart.so.11.0
