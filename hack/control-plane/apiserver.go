package main

import (
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build version metric
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// runAPIServer is kube-apiserver as it is.
func runAPIServer() int {
	return cli.Run(app.NewAPIServerCommand())
}
