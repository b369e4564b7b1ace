#!/bin/sh
# Compiles the CUDA runtime that tests run on into the test classes: build.sh <java home> <test classes directory>
# Without a compiler, or on another platform, says so in one line and leaves it out: tests that need it are skipped then.
here=$(dirname "$0")
java_home=$1
directory=$2/org/memferry/device/cuda

left_out() {
    echo "CUDA runtime for tests: left out, $1"
    rm -rf "$directory/11" "$directory/13"
    exit 0
}

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || left_out "it is for Linux on x86-64 and this is $(uname -s) on $(uname -m)"
command -v g++ > /dev/null || left_out "there is no g++ on the PATH"
[ -f "$java_home/include/jni.h" ] || left_out "there is no jni.h in $java_home/include"

set -e
# JavaCPP's bindings want libcuda.so.1 to be there, and resolve its functions when one is called: none is.
flavour() { # directory, name of the library and of its symbol version, version as CUDA writes it
    target=$directory/$1/$2
    newest=$(ls -t "$target" "$here"/* 2> /dev/null | head -n 1)
    [ "$newest" = "$target" ] && return
    mkdir -p "$directory/$1"
    printf '%s { global: cuda*; Java_*; local: *; };\n' "$2" > "$directory/$1/version.map"
    g++ -std=c++17 -O2 -fPIC -shared -static-libstdc++ -static-libgcc -pthread -DRUNTIME_VERSION="$3" -Wall -Wextra \
        -I"$java_home/include" -I"$java_home/include/linux" -Wl,-soname,"$2" -Wl,--version-script="$directory/$1/version.map" \
        -o "$target.new" "$here/fakecudart.cpp"
    mv "$target.new" "$target"
    echo 'int placeholder;' | g++ -x c++ -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$directory/$1/libcuda.so.1" -
}
flavour 11 libcudart.so.11.0 11060
flavour 13 libcudart.so.13 13000
