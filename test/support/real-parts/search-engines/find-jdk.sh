#!/usr/bin/env bash
# find-jdk.sh VERSION: prints the home of an installed JDK of at least that version: $JDK_HOME if it is one, else the
# oldest that fits beside the default JDK.
set -euo pipefail
version_of() { sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release" 2>/dev/null; }
fits() { [ -x "$1/bin/javac" ] && [ "$(version_of "$1")" -ge "$wanted" ] 2>/dev/null; }
wanted=$1
if [ -n "${JDK_HOME:-}" ] && fits "$JDK_HOME"; then echo "$JDK_HOME"; exit; fi
default=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
if fits "$default"; then echo "$default"; exit; fi
found=$(for home in "$(dirname "$default")"/*; do
  if ! [ -L "$home" ] && fits "$home"; then echo "$(version_of "$home") $home"; fi
done | sort -n | head -1 | cut -d' ' -f2-)
[ -n "$found" ] || { echo "no JDK $wanted or later beside $default; set JDK_HOME" >&2; exit 1; }
echo "$found"
