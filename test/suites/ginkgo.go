package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/crd-server/crd-server/test/outcome"
)

// ginkgoReport is the part of Ginkgo's JSON report (github.com/onsi/ginkgo/v2/types.Report) that is read here. The
// projects use several versions of Ginkgo.
type ginkgoReport struct {
	SuiteDescription string
	SpecReports      []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		Failure                 struct {
			Message  string
			Location struct {
				FileName   string
				LineNumber int
			}
		}
	}
}

// ginkgoSpecs reads the specs from a report. Nodes such as BeforeSuite are specs only if they fail.
func ginkgoSpecs(path string) ([]outcome.Test, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no report of Ginkgo: %w", err)
	}
	return decodeGinkgo(content)
}

func decodeGinkgo(content []byte) ([]outcome.Test, error) {
	var reports []ginkgoReport
	if err := json.Unmarshal(content, &reports); err != nil {
		return nil, fmt.Errorf("report of Ginkgo: %w", err)
	}
	var tests []outcome.Test
	seen := map[string]int{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			t := outcome.Test{Spec: true, State: ginkgoState(spec.State)}
			if spec.LeafNodeType != "It" {
				if t.State != outcome.Failed {
					continue
				}
				t.Name = "[" + spec.LeafNodeType + "] " + spec.LeafNodeText
			} else {
				t.Name = strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " ")
			}
			// Entries of a table may have the same text.
			if seen[t.Name]++; seen[t.Name] > 1 {
				t.Text = t.Name
				t.Name = fmt.Sprintf("%s #%d", t.Name, seen[t.Name])
			}
			if t.State == outcome.Failed {
				at := spec.Failure.Location
				t.Message = fmt.Sprintf("%s:%d: %s", filepath.Base(at.FileName), at.LineNumber, spec.Failure.Message)
			}
			tests = append(tests, t)
		}
	}
	return tests, nil
}

// ginkgoState maps Ginkgo's states; failures are also panicked, interrupted, aborted and timedout.
func ginkgoState(name string) outcome.State {
	switch name {
	case "passed":
		return outcome.Passed
	case "skipped", "pending":
		return outcome.Skipped
	}
	return outcome.Failed
}
