#!/usr/bin/env bash
# build-kube.sh NAME...: builds kube-apiserver, etcd, kubectl, kwok, kube-controller-manager, kubectl-1.29 or kubelet (the
# one of kube/kubelet) from the Go module proxy into the cache outside the checkout, once per version, and prints the
# folder that holds them.
# KUBEBUILDER_ASSETS, when set, is used as it is (the convention of envtest).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then echo "$KUBEBUILDER_ASSETS"; exit 0; fi
kube=v1.36.3
out="${XDG_CACHE_HOME:-$HOME/.cache}/fleetsearch/kube-$kube/bin"
mkdir -p "$out"
declare -A packages=(
  [etcd]=go.etcd.io/etcd/server/v3
  [kube-apiserver]=k8s.io/kubernetes/cmd/kube-apiserver
  [kubectl]=k8s.io/kubernetes/cmd/kubectl
  [kube-controller-manager]=k8s.io/kubernetes/cmd/kube-controller-manager
  [kwok]=sigs.k8s.io/kwok/cmd/kwok
  [kubelet]=./kubelet
)
declare -A modules=([kubectl-1.29]=kube-older)
packages[kubectl-1.29]=.
older="-X k8s.io/component-base/version.gitVersion=v1.29.15 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=29"
flags="-X k8s.io/component-base/version.gitVersion=$kube -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
[ $# -gt 0 ] || set -- etcd kube-apiserver kubectl kwok
for name in "$@"; do
  package=${packages[$name]:?unknown part $name}
  [ -x "$out/$name" ] && ! { [ "$name" = kubelet ] && [ "$here/kube/kubelet/main.go" -nt "$out/kubelet" ]; } && continue
  echo "building $name" >&2
  # Built beside its place and renamed, so that a killed build leaves no half binary behind.
  module=${modules[$name]:-kube}
  [ "$module" = kube ] && linked=$flags || linked=$older
  (cd "$here/$module" && CGO_ENABLED=0 go build -ldflags "$linked" -o "$out/.$name.partial" "$package") >&2
  mv "$out/.$name.partial" "$out/$name"
done
echo "$out"
