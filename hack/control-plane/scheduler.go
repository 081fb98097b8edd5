package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// runScheduler is kube-scheduler as it is, to compare with.
func runScheduler() int {
	return cli.Run(app.NewSchedulerCommand())
}
