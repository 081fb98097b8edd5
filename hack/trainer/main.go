// Command trainer runs Kubeflow Trainer's own controllers of TrainJobs and their runtimes, and beside them JobSet's, of whose
// JobSets they make their pods. Left out are the webhooks of both, which need a certificate that the API server trusts: what
// JobSet's would fill in, a runtime has to say.
package main

import (
	"context"
	"fmt"
	"log"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercontrollers "github.com/kubeflow/trainer/v2/pkg/controller"
	trainerruntimes "github.com/kubeflow/trainer/v2/pkg/runtime/core"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	scheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, trainer.AddToScheme, jobset.AddToScheme, scheduling.AddToScheme,
	} {
		if err := add(known); err != nil {
			return err
		}
	}
	where, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(where, ctrl.Options{
		Scheme:  known,
		Client:  client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := addJobSets(ctx, manager); err != nil {
		return err
	}
	runtimes, err := trainerruntimes.New(ctx, manager.GetClient(), manager.GetFieldIndexer())
	if err != nil {
		return err
	}
	if kind, err := trainercontrollers.SetupControllers(manager, runtimes, controller.Options{}); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return manager.Start(ctx)
}

func addJobSets(ctx context.Context, manager ctrl.Manager) error {
	fields := manager.GetFieldIndexer()
	if err := jobsetcontrollers.SetupJobSetIndexes(ctx, fields); err != nil {
		return err
	}
	if err := jobsetcontrollers.SetupPodIndexes(ctx, fields); err != nil {
		return err
	}
	reads, kinds, events := manager.GetClient(), manager.GetScheme(), manager.GetEventRecorderFor("jobset")
	if err := jobsetcontrollers.NewJobSetReconciler(reads, kinds, events).SetupWithManager(manager); err != nil {
		return err
	}
	return jobsetcontrollers.NewPodReconciler(reads, kinds, events).SetupWithManager(manager)
}
