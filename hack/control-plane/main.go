// Command control-plane is a whole Kubernetes control plane in one binary, for
// tests and benchmarks. The role is the name it was called by (a link named
// kube-apiserver plays kube-apiserver), else the first argument; the rest are
// the flags of that component.
//
// One process plays one role. Feature gates, metrics registries and signal
// handlers are global to a process, and a crash test wants to kill one
// component and keep the others. The role is picked before any command is
// built, because building one (the API server's) already installs a signal
// handler.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// roles maps a role's name to what runs it; what it returns is the exit code.
// Each role lives in a file of its own.
var roles = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-scheduler":          runScheduler,
	"filters":                 runFilters,
	"kubectl":                 runKubectl,
	"kwok":                    runKwok,
}

func main() {
	// Each component sees itself as the program: its flags start at 1.
	if run, known := roles[filepath.Base(os.Args[0])]; known {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, known := roles[os.Args[1]]; known {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	usage()
}

func usage() {
	names := make([]string, 0, len(roles))
	for name := range roles {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: control-plane ROLE [flags]\nroles: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}
