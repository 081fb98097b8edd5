// Command extender is an extender of kube-scheduler, with Kubernetes' own types, for tests.
//
//	extender ADDRESS [KUBECONFIG]
//
// Which nodes suit a pod stands in the pod's annotation extender.test/label: those with the label
// that it names, or, for an extender that knows the nodes, those whose names are in the annotation
// extender.test/nodes. The annotation extender.test/best names the node with the best priority.
//
// With a KUBECONFIG it binds pods, too, and marks those that it bound by the annotation
// extender.test/bound. The annotation extender.test/bind has it refuse ("no") or say that it did what it
// did not ("lie").
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	extender "k8s.io/kube-scheduler/extender/v1"
)

const (
	byLabel = "extender.test/label"
	byName  = "extender.test/nodes"
	best    = "extender.test/best"
	manner  = "extender.test/bind"
	mark    = "extender.test/bound"
)

func names(args *extender.ExtenderArgs) []string {
	if args.NodeNames != nil {
		return *args.NodeNames
	}
	var found []string
	for _, node := range args.Nodes.Items {
		found = append(found, node.Name)
	}
	return found
}

func suits(pod *v1.Pod, name string, node *v1.Node) bool {
	if label, set := pod.Annotations[byLabel]; set {
		if node == nil {
			return false
		}
		_, has := node.Labels[label]
		return has
	}
	wanted, set := pod.Annotations[byName]
	return !set || slices.Contains(strings.Split(wanted, ","), name)
}

func filter(args *extender.ExtenderArgs) any {
	result := extender.ExtenderFilterResult{FailedNodes: extender.FailedNodesMap{}}
	if args.Pod == nil {
		result.Error = "no pod"
		return result
	}
	fit := []string{}
	list := &v1.NodeList{}
	for index, name := range names(args) {
		var node *v1.Node
		if args.Nodes != nil {
			node = &args.Nodes.Items[index]
		}
		if !suits(args.Pod, name, node) {
			result.FailedNodes[name] = "node(s) were refused by the extender"
			continue
		}
		fit = append(fit, name)
		if node != nil {
			list.Items = append(list.Items, *node)
		}
	}
	if args.Nodes != nil {
		result.Nodes = list
	} else {
		result.NodeNames = &fit
	}
	return result
}

func prioritize(args *extender.ExtenderArgs) any {
	list := extender.HostPriorityList{}
	for _, name := range names(args) {
		score := extender.MinExtenderPriority
		if args.Pod.Annotations[best] == name {
			score = extender.MaxExtenderPriority
		}
		list = append(list, extender.HostPriority{Host: name, Score: score})
	}
	return list
}

func binder(client kubernetes.Interface) func(*extender.ExtenderBindingArgs) any {
	bind := func(args *extender.ExtenderBindingArgs) error {
		pods := client.CoreV1().Pods(args.PodNamespace)
		pod, err := pods.Get(context.Background(), args.PodName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		switch pod.Annotations[manner] {
		case "no":
			return fmt.Errorf("the card of %s is broken", args.Node)
		case "lie":
			return nil
		}
		return pods.Bind(context.Background(), &v1.Binding{
			ObjectMeta: metav1.ObjectMeta{
				Name:        args.PodName,
				UID:         args.PodUID,
				Annotations: map[string]string{mark: args.Node},
			},
			Target: v1.ObjectReference{Kind: "Node", Name: args.Node},
		}, metav1.CreateOptions{})
	}
	return func(args *extender.ExtenderBindingArgs) any {
		result := extender.ExtenderBindingResult{}
		if err := bind(args); err != nil {
			result.Error = err.Error()
		}
		return result
	}
}

func verb[Args any](answer func(*Args) any) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var args Args
		if err := json.NewDecoder(request.Body).Decode(&args); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(writer).Encode(answer(&args)); err != nil {
			log.Print(err)
		}
	}
}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: extender ADDRESS [KUBECONFIG]")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /scheduler/filter", verb(filter))
	http.HandleFunc("POST /scheduler/prioritize", verb(prioritize))
	if len(os.Args) == 3 {
		config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			log.Fatal(err)
		}
		http.HandleFunc("POST /scheduler/bind", verb(binder(client)))
	}
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
