#!/usr/bin/env bash
# build-client-go.sh: builds the informers of test/e2e/client-go into the cache outside the checkout and prints the path of
# the binary. Go's own build cache decides what there is to do: nothing, in a second, when neither it nor client-go changed.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../e2e/client-go" && pwd)
version=$(sed -n 's|^.*k8s.io/client-go \(v[0-9.]*\)$|\1|p' "$source/go.mod")
out="${XDG_CACHE_HOME:-$HOME/.cache}/fleetsearch/client-go-$version/bin"
mkdir -p "$out"
# Built beside its place and renamed: a test that runs at the same time never starts half a binary.
(cd "$source" && CGO_ENABLED=0 go build -o "$out/.informers.$$" .) >&2
mv "$out/.informers.$$" "$out/informers"
echo "$out/informers"
