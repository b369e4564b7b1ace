#!/bin/sh
# Compiles the native library, that is the update kernel and a call for host memory, into the classes: build.sh <java home> <classes directory>
# Without a compiler, or on another platform, says so in one line and leaves it out: the Java kernel serves then.
here=$(dirname "$0")
java_home=$1
directory=$2/org/memferry/device/linux-x86_64
library=$directory/libmemferry.so

left_out() {
    echo "native library: left out, $1 (the Java kernel will serve)"
    rm -f "$library"
    exit 0
}

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || left_out "it is for Linux on x86-64 and this is $(uname -s) on $(uname -m)"
command -v gcc > /dev/null || left_out "there is no gcc on the PATH"
[ -f "$java_home/include/jni.h" ] || left_out "there is no jni.h in $java_home/include"

newest=$(ls -t "$library" "$here"/*.c "$here"/*.h "$here"/build.sh 2> /dev/null | head -n 1)
[ "$newest" = "$library" ] && exit 0

set -e
mkdir -p "$directory"
# No contraction but the one written down, no OpenMP, no libstdc++; no build id and no paths, so that the same compiler gives the same bytes.
gcc -std=gnu11 -O3 -fPIC -shared -fvisibility=hidden -ffp-contract=off -fno-math-errno -Wall -Wextra \
    -I"$java_home/include" -I"$java_home/include/linux" -Wl,--build-id=none -Wl,-z,defs -s \
    -o "$library.new" "$here"/*.c -lm
mv "$library.new" "$library"
