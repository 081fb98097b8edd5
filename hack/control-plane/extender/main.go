// Command extender is an extender of kube-scheduler, with Kubernetes' own types, for tests.
//
//	extender ADDRESS
//
// Which nodes suit a pod stands in the pod's annotation extender.test/label: those with the label
// that it names, or, for an extender that knows the nodes, those whose names are in the annotation
// extender.test/nodes. The annotation extender.test/best names the node with the best priority.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
)

const (
	byLabel = "extender.test/label"
	byName  = "extender.test/nodes"
	best    = "extender.test/best"
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

func verb(answer func(*extender.ExtenderArgs) any) http.HandlerFunc {
	return func(writer http.ResponseWriter, request *http.Request) {
		var args extender.ExtenderArgs
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
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: extender ADDRESS")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /scheduler/filter", verb(filter))
	http.HandleFunc("POST /scheduler/prioritize", verb(prioritize))
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
