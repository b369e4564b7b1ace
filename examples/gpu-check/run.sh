#!/bin/sh
# Runs the check: run.sh [options], see run.sh --help. Finds the CUDA libraries of the major version that the bindings in lib/ are for.
here=$(cd "$(dirname "$0")" && pwd)
case $(ls "$here"/lib/cuda-*.jar) in
    *cuda-11*) cudart=libcudart.so.11.0 cublas=libcublas.so.11 ;;
    *) cudart=libcudart.so.13 cublas=libcublas.so.13 ;;
esac

folder_of() { # the folder of a library, from the linker's cache, usual places, or Python's packages
    found=$(ldconfig -p 2> /dev/null | sed -n "s/.*$1 .*=> //p" | head -n 1)
    [ -n "$found" ] || found=$(find -L /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib /usr/lib /opt /usr/local/lib "$HOME"/.local "$HOME" \
        -maxdepth 9 -name "$1" 2> /dev/null | head -n 1)
    [ -z "$found" ] || dirname "$found"
}

for library in $cudart $cublas; do
    IFS=:
    for folder in ${LD_LIBRARY_PATH:-}; do
        [ -e "$folder/$library" ] && continue 2
    done
    unset IFS
    folder=$(folder_of "$library")
    if [ -n "$folder" ]; then
        LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    else
        echo "note: $library was not found; set LD_LIBRARY_PATH to its folder" >&2
    fi
done
unset IFS
export LD_LIBRARY_PATH

# Pinned memory is none of JavaCPP's business. A cache of our own: one that another CUDA was used from goes on using it.
exec "$here/jre/bin/java" -Xmx1g -Dorg.bytedeco.javacpp.maxphysicalbytes=0 -Dorg.bytedeco.javacpp.cachedir="$here/cache" \
    -cp "$here/lib/*" org.memferry.examples.gpucheck.GpuCheckCommand "$@"
