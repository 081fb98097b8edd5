// Command training-operator runs Kubeflow's own controllers of PyTorchJobs and TFJobs, as its training-operator does, with the
// gang scheduler of --gang-scheduler-name. Left out is its webhook, which needs a certificate that the API server trusts.
package main

import (
	"flag"
	"log"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	scheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanoscheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
)

var kinds = []string{kubeflow.PyTorchJobKind, kubeflow.TFJobKind}

func main() {
	gangScheduler := flag.String("gang-scheduler-name", "", "volcano, or the name of one that goes by PodGroups of scheduling.x-k8s.io")
	flag.StringVar(&config.Config.PyTorchInitContainerImage, "pytorch-init-container-image", config.PyTorchInitContainerImageDefault, "")
	flag.StringVar(&config.Config.PyTorchInitContainerTemplateFile, "pytorch-init-container-template-file", config.PyTorchInitContainerTemplateFileDefault, "")
	flag.IntVar(&config.Config.PyTorchInitContainerMaxTries, "pytorch-init-container-max-tries", config.PyTorchInitContainerMaxTriesDefault, "")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*gangScheduler); err != nil {
		log.Fatal(err)
	}
}

func run(gangScheduler string) error {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		scheme.AddToScheme, kubeflow.AddToScheme, scheduling.AddToScheme, volcanoscheduling.AddToScheme,
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
		Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	gangs := common.GenSchedulerPluginsSetupFunc(manager.GetClient(), gangScheduler)
	if gangScheduler == string(common.GangSchedulerVolcano) {
		client, err := volcano.NewForConfig(where)
		if err != nil {
			return err
		}
		gangs = common.GenVolcanoSetupFunc(client)
	}
	for _, kind := range kinds {
		if err := controllers.SupportedSchemeReconciler[kind](manager, gangs, 1); err != nil {
			return err
		}
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
