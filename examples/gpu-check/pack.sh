#!/bin/sh
# Packs gpu-check for a machine with a card that has neither Maven nor JDK nor network, in less than 60 MB:
#   mvn -DskipTests package            for a machine with CUDA 11 (or -Pcuda-13 for CUDA 13)
#   examples/gpu-check/pack.sh [file]  writes examples/target/memferry-gpu-check.tar.gz, or the file
# There: tar xzf memferry-gpu-check.tar.gz && memferry-gpu-check/run.sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=$here/../target
archive=${1:-$target/memferry-gpu-check.tar.gz}
most=$((60 * 1024 * 1024))

[ -f "$target/memferry.jar" ] || { echo "$target/memferry.jar is not there: build it with mvn -DskipTests package" >&2; exit 2; }
jlink=${JAVA_HOME:+$JAVA_HOME/bin/}jlink
command -v "$jlink" > /dev/null || { echo "there is no $jlink: it comes with a JDK" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kit=$work/memferry-gpu-check
mkdir -p "$kit/lib"
cp "$target/memferry.jar" "$kit/lib/"
# All that runs without ND4J's libraries; of ND4J itself only the interfaces by which the library names its update rules.
for jar in memferry-dl4j javacpp cuda jackson-core jackson-databind jackson-annotations slf4j-api logback-classic logback-core picocli nd4j-api; do
    cp "$target"/lib/$jar-[0-9]*.jar "$kit/lib/"
done
"$jlink" --add-modules java.base,java.logging,java.management,java.naming,java.xml,jdk.unsupported --strip-debug --no-man-pages --no-header-files \
    --compress=2 --output "$kit/jre" 2> /dev/null
cp "$here/run.sh" "$here/README.txt" "$kit/"
chmod +x "$kit/run.sh"
tar czf "$archive" -C "$work" memferry-gpu-check
bytes=$(wc -c < "$archive")
[ "$bytes" -le "$most" ] || { echo "$archive has $bytes bytes (expected: at most $most)" >&2; exit 1; }
echo "RESULT name=gpu-check-pack bytes=$bytes limit_bytes=$most"
