package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
func ginkgoSpecs(path string) ([]test, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("no report of Ginkgo: %w", err)
	}
	return decodeGinkgo(content)
}

func decodeGinkgo(content []byte) ([]test, error) {
	var reports []ginkgoReport
	if err := json.Unmarshal(content, &reports); err != nil {
		return nil, fmt.Errorf("report of Ginkgo: %w", err)
	}
	var tests []test
	seen := map[string]int{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			t := test{Spec: true, State: ginkgoState(spec.State)}
			if spec.LeafNodeType != "It" {
				if t.State != failed {
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
			if t.State == failed {
				at := spec.Failure.Location
				t.Message = fmt.Sprintf("%s:%d: %s", filepath.Base(at.FileName), at.LineNumber, spec.Failure.Message)
			}
			tests = append(tests, t)
		}
	}
	return tests, nil
}

// ginkgoState maps Ginkgo's states; failures are also panicked, interrupted, aborted and timedout.
func ginkgoState(name string) state {
	switch name {
	case "passed":
		return passed
	case "skipped", "pending":
		return skipped
	}
	return failed
}
