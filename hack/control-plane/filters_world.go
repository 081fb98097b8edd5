package main

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apierrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // defaults of controllers
	api "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"    // defaults of pods and nodes
	_ "k8s.io/kubernetes/pkg/apis/storage/install" // defaults of classes
	podregistry "k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// filterCase is a cluster and a pod that waits in it.
type filterCase struct {
	Nodes []*v1.Node `json:"nodes"`
	// Pods are bound; those that have ended do not count.
	Pods []*v1.Pod `json:"pods"`
	Pod  *v1.Pod   `json:"pod"`

	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	Services               []*v1.Service                   `json:"services"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments"`

	// Args are plugins' arguments by plugin, as in a KubeSchedulerConfiguration.
	Args map[string]json.RawMessage `json:"args"`
	// Scores asks for scores, too.
	Scores bool `json:"scores"`
	// Prepared asks for the pods as the API server stores them.
	Prepared bool `json:"prepared"`
}

// snapshotLister is what plugins keep; what it shows changes with every case.
type snapshotLister struct {
	*schedulercache.Snapshot
}

// filterWorld is what kube-scheduler's plugins look at, filled case by case.
type filterWorld struct {
	factory    informers.SharedInformerFactory
	lister     *snapshotLister
	frameworks map[string]framework.Framework
}

func newFilterWorld() *filterWorld {
	metrics.Register()
	world := &filterWorld{
		// It is never started, so that it needs no client.
		factory:    informers.NewSharedInformerFactory(nil, 0),
		lister:     &snapshotLister{},
		frameworks: map[string]framework.Framework{},
	}
	world.lister.Snapshot = schedulercache.NewSnapshot(nil, nil)
	return world
}

// framework is the default profile with these arguments. There are few in a run, and each is kept.
func (w *filterWorld) framework(ctx context.Context, args map[string]json.RawMessage) (framework.Framework, error) {
	key, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	if known, ok := w.frameworks[string(key)]; ok {
		return known, nil
	}
	defaults, err := latest.Default()
	if err != nil {
		return nil, err
	}
	profile := &defaults.Profiles[0]
	// Claims on devices need caches that follow events.
	enabled := profile.Plugins.MultiPoint.Enabled[:0]
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name != names.DynamicResources {
			enabled = append(enabled, plugin)
		}
	}
	profile.Plugins.MultiPoint.Enabled = enabled
	for index := range profile.PluginConfig {
		one := &profile.PluginConfig[index]
		text, given := args[one.Name]
		if !given {
			continue
		}
		if err := decodeArgs(text, one); err != nil {
			return nil, fmt.Errorf("args of %s: %w", one.Name, err)
		}
	}
	csi := nodevolumelimits.NewCSIManager(w.factory.Storage().V1().CSINodes().Lister())
	made, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		frameworkruntime.WithInformerFactory(w.factory),
		frameworkruntime.WithSnapshotSharedLister(w.lister),
		frameworkruntime.WithSharedCSIManager(csi),
		frameworkruntime.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	w.frameworks[string(key)] = made
	return made, nil
}

// decodeArgs reads the arguments of one plugin with their defaults; they name their version and kind.
func decodeArgs(text json.RawMessage, into *config.PluginConfig) error {
	read, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	into.Args = read
	return nil
}

// load makes the objects what the API server would have made of them, and shows them to the plugins.
func (w *filterWorld) load(ctx context.Context, one *filterCase) error {
	if one.Pod == nil {
		return fmt.Errorf("a case needs a pod")
	}
	var problems []error
	known := map[string]bool{}
	for _, node := range one.Nodes {
		legacyscheme.Scheme.Default(node)
		known[node.Name] = true
	}
	var bound []*v1.Pod
	for _, pod := range one.Pods {
		problems = append(problems, prepare(ctx, pod))
		if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		if !known[pod.Spec.NodeName] {
			return fmt.Errorf("pod %s is on node %q, which is not there", pod.Name, pod.Spec.NodeName)
		}
		bound = append(bound, pod)
	}
	problems = append(problems, prepare(ctx, one.Pod))
	w.lister.Snapshot = schedulercache.NewSnapshot(bound, one.Nodes)

	core, storage := w.factory.Core().V1(), w.factory.Storage().V1()
	apps := w.factory.Apps().V1()
	problems = append(problems,
		show(core.Namespaces().Informer(), one.Namespaces),
		show(core.Services().Informer(), one.Services),
		show(core.ReplicationControllers().Informer(), one.ReplicationControllers),
		show(core.PersistentVolumes().Informer(), one.PersistentVolumes),
		show(core.PersistentVolumeClaims().Informer(), one.PersistentVolumeClaims),
		show(storage.StorageClasses().Informer(), one.StorageClasses),
		show(storage.CSINodes().Informer(), one.CSINodes),
		show(storage.CSIDrivers().Informer(), one.CSIDrivers),
		show(storage.CSIStorageCapacities().Informer(), one.CSIStorageCapacities),
		show(storage.VolumeAttachments().Informer(), one.VolumeAttachments),
		show(apps.ReplicaSets().Informer(), one.ReplicaSets),
		show(apps.StatefulSets().Informer(), one.StatefulSets),
	)
	return apierrors.NewAggregate(problems)
}

// show makes these the objects of their kind.
func show[T runtime.Object](informer cache.SharedIndexInformer, objects []T) error {
	all := make([]any, 0, len(objects))
	for _, object := range objects {
		legacyscheme.Scheme.Default(object)
		all = append(all, object)
	}
	return informer.GetIndexer().Replace(all, "1")
}

// prepare makes of a pod what the API server makes of it when it is created; its status stays. It is
// read again as it was stored: sums of quantities may change those that were not written canonically.
func prepare(ctx context.Context, pod *v1.Pod) error {
	legacyscheme.Scheme.Default(pod)
	status := pod.Status.DeepCopy()
	internal := &api.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return err
	}
	podregistry.Strategy.PrepareForCreate(ctx, internal)
	if err := legacyscheme.Scheme.Convert(internal, pod, nil); err != nil {
		return err
	}
	pod.Status = *status
	stored, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	*pod = v1.Pod{}
	return json.Unmarshal(stored, pod)
}
