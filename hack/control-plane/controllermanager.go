package main

import (
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // request metrics
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// runControllerManager is kube-controller-manager as it is.
func runControllerManager() int {
	return cli.Run(app.NewControllerManagerCommand())
}
