package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// verdict is what one node says to the pending pod. Without a code it fits.
type verdict struct {
	Plugin  string   `json:"plugin,omitempty"`
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// answer is what kube-scheduler makes of a case.
type answer struct {
	// Error is set where the case itself is no good.
	Error string `json:"error,omitempty"`
	// Gated is why the pod is not even queued.
	Gated *verdict `json:"gated,omitempty"`
	// PreFilter is a refusal for all nodes together.
	PreFilter *verdict `json:"preFilter,omitempty"`
	// Nodes has a verdict for each node, by name.
	Nodes map[string]verdict `json:"nodes"`
	// Message is what the pod's condition says where no node fits, without preemption's part.
	Message string `json:"message,omitempty"`
	// Scores are those of the nodes that fit: weighted by plugin, and TotalScore as "".
	Scores map[string]map[string]int64 `json:"scores,omitempty"`
	// Requests are the effective requests of each pod, cpu in thousandths.
	Requests map[string]map[string]int64 `json:"requests"`
	// Prepared has the pods as the API server would have stored them, the pending one last.
	Prepared []*v1.Pod `json:"prepared,omitempty"`
}

// runFilters reads cases as JSON lines and answers each in a line: what the filters of
// kube-scheduler's default profile say of each node, in the order in which it calls them, but
// without an API server, informers, queues or preemption.
func runFilters() int {
	flags := flag.NewFlagSet("filters", flag.ExitOnError)
	gates := flags.String("feature-gates", "", "feature gates, such as A=true,B=false")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2
	}
	if err := filters(*gates, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "filters:", err)
		return 1
	}
	return 0
}

func filters(gates string, in io.Reader, out io.Writer) error {
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		return err
	}
	world := newFilterWorld()
	lines, answers := bufio.NewReaderSize(in, 1<<20), bufio.NewWriterSize(out, 1<<20)
	encoder := json.NewEncoder(answers)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(world.answerLine(line)); err != nil {
				return err
			}
			// Whoever asks may wait for this answer before the next question.
			if lines.Buffered() == 0 {
				if err := answers.Flush(); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return answers.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// answerLine answers one case; one that makes a plugin panic has that as its error.
func (w *filterWorld) answerLine(line []byte) (found *answer) {
	defer func() {
		if problem := recover(); problem != nil {
			found = &answer{Error: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	var one filterCase
	if err := json.Unmarshal(line, &one); err != nil {
		return &answer{Error: err.Error()}
	}
	found, err := w.answer(context.Background(), &one)
	if err != nil {
		return &answer{Error: err.Error()}
	}
	return found
}

// answer goes through a scheduling cycle as far as the scores.
func (w *filterWorld) answer(ctx context.Context, one *filterCase) (*answer, error) {
	if err := w.load(ctx, one); err != nil {
		return nil, err
	}
	fw, err := w.framework(ctx, one.Args)
	if err != nil {
		return nil, err
	}
	found := &answer{Nodes: map[string]verdict{}, Requests: map[string]map[string]int64{}}
	for _, pod := range append(slices.Clone(one.Pods), one.Pod) {
		found.Requests[pod.Namespace+"/"+pod.Name] = requestsOf(pod)
	}
	if one.Prepared {
		found.Prepared = append(slices.Clone(one.Pods), one.Pod)
	}
	for _, plugin := range fw.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, one.Pod); !status.IsSuccess() {
			status.SetPlugin(plugin.Name())
			gated := verdictOf(status)
			found.Gated = &gated
			return found, nil
		}
	}

	nodes, err := w.lister.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int {
		if a.Node().Name < b.Node().Name {
			return -1
		}
		return 1
	})
	if len(nodes) == 0 {
		found.Message = "no nodes available to schedule pods"
		return found, nil
	}
	diagnosis := framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()}
	state := framework.NewCycleState()
	narrowed, status, plugins := fw.RunPreFilterPlugins(ctx, state, one.Pod)
	switch {
	case !status.IsSuccess() && !status.IsRejected():
		refused := verdictOf(status)
		found.PreFilter, found.Message = &refused, status.AsError().Error()
		return found, nil
	case !status.IsSuccess():
		refused := verdictOf(status)
		found.PreFilter = &refused
		diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		diagnosis.PreFilterMsg = status.Message()
		found.Message = fitError(one.Pod, nodes, diagnosis)
		return found, nil
	case !narrowed.AllNodes():
		diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins))))
	}

	var fit []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			found.Nodes[name] = verdictOf(diagnosis.NodeToStatus.AbsentNodesStatus())
			continue
		}
		status := fw.RunFilterPlugins(ctx, state, one.Pod, node)
		found.Nodes[name] = verdictOf(status)
		if status.IsSuccess() {
			fit = append(fit, node)
			continue
		}
		diagnosis.NodeToStatus.Set(name, status)
		if !status.IsRejected() {
			found.Message = status.AsError().Error()
			return found, nil
		}
	}
	if len(fit) == 0 {
		found.Message = fitError(one.Pod, nodes, diagnosis)
	}
	if one.Scores && len(fit) > 0 {
		found.Scores, err = scoresOf(ctx, fw, state, one.Pod, fit)
	}
	return found, err
}

func fitError(pod *v1.Pod, nodes []fwk.NodeInfo, diagnosis framework.Diagnosis) string {
	problem := &framework.FitError{Pod: pod, NumAllNodes: len(nodes), Diagnosis: diagnosis}
	return problem.Error()
}

func verdictOf(status *fwk.Status) verdict {
	if status.IsSuccess() {
		return verdict{}
	}
	return verdict{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: status.Reasons()}
}

func scoresOf(
	ctx context.Context, fw framework.Framework, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (map[string]map[string]int64, error) {
	if status := fw.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores, status := fw.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	found := map[string]map[string]int64{"": {}}
	for _, node := range scores {
		found[""][node.Name] = node.TotalScore
		for _, score := range node.Scores {
			if found[score.Name] == nil {
				found[score.Name] = map[string]int64{}
			}
			found[score.Name][node.Name] = score.Score
		}
	}
	return found, nil
}

// requestsOf are a pod's effective requests as the scheduler's cache has them, without zeros.
func requestsOf(pod *v1.Pod) map[string]int64 {
	options := resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	found := map[string]int64{}
	for name, quantity := range resourcehelper.PodRequests(pod, options) {
		if amount := amountOf(name, quantity); amount != 0 {
			found[string(name)] = amount
		}
	}
	return found
}

func amountOf(name v1.ResourceName, quantity resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}
