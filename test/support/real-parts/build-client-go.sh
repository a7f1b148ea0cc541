#!/usr/bin/env bash
# build-client-go.sh: builds the programs of test/e2e/client-go (informers, typed) into the cache outside the checkout and
# prints their folder. Go's own build cache decides what there is to do: nothing, in a second, when neither they nor
# client-go changed.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../e2e/client-go" && pwd)
version=$(sed -n 's|^.*k8s.io/client-go \(v[0-9.]*\)$|\1|p' "$source/go.mod")
out="${XDG_CACHE_HOME:-$HOME/.cache}/fleetsearch/client-go-$version/bin"
mkdir -p "$out"
# Built beside their place and renamed: a test that runs at the same time never starts half a binary.
partial=$(mktemp -d "$out/.partial.XXXXXX")
trap 'rm -rf "$partial"' EXIT
(cd "$source" && CGO_ENABLED=0 go build -o "$partial/" ./...) >&2
mv "$partial"/* "$out/"
echo "$out"
