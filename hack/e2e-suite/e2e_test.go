// Package e2e runs Kubernetes' own end-to-end tests of scheduling against the cluster of --kubeconfig.
//
// Each test, those that were left out as well, is a line of --results: state, seconds, name, and what was said,
// parted by tabs. hack/e2e makes a table of it.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"

	_ "k8s.io/kubernetes/test/e2e/framework/debug/init" // what is in the namespace of a test that fails
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"  // nodes are ready after each test
	_ "k8s.io/kubernetes/test/e2e/scheduling"           // the tests
)

var results = flag.String("results", "", "the file for what came of each test")

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	os.Exit(m.Run())
}

func TestScheduling(t *testing.T) {
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	ginkgo.RunSpecs(t, "Kubernetes' tests of scheduling", suite, reporter)
}

var _ = ginkgo.ReportAfterSuite("results", func(report ginkgo.Report) {
	lines := ""
	for _, spec := range report.SpecReports.WithLeafNodeType(types.NodeTypeIt) {
		said := strings.Join(strings.Fields(spec.Failure.Message), " ")
		lines += fmt.Sprintf("%s\t%.0f\t%s\t%s\n", spec.State, spec.RunTime.Seconds(), spec.FullText(), said)
	}
	if err := os.WriteFile(*results, []byte(lines), 0o644); err != nil {
		ginkgo.Fail(err.Error())
	}
})
