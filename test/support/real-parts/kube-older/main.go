// Package main is kubectl of a Kubernetes several minor versions older than the servers that the tests start: the newest
// whose exec, attach and port-forward know SPDY alone.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// Source: kubernetes cmd/kubectl/kubectl.go. Left out: the authentication plugins of cloud providers.
func main() {
	command := cmd.NewDefaultKubectlCommand()
	if err := cli.RunNoErrOutput(command); err != nil {
		util.CheckErr(err)
	}
}
