package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestPodsFollowLimits checks that a pod sees the newest limits.
func TestPodsFollowLimits(t *testing.T) {
	t.Parallel()
	root := startWhole(t, everything).root()
	const limits = "/api/v1/namespaces/default/limitranges"
	for range 20 {
		root.must(http.StatusCreated, "POST", limits,
			`{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"1"},"max":{"cpu":"2"}}]}}`)
		root.must(http.StatusCreated, "POST", podsPath+"?dryRun=All", podJSON("p")).expect(t, `"limits":{"cpu":"1"}`)
		root.must(http.StatusForbidden, "POST", podsPath, strings.Replace(podJSON("p"), `"image"`,
			`"resources":{"limits":{"cpu":"3"}},"image"`, 1)).expect(t, "maximum cpu usage per Container is 2, but limit is 3")
		root.must(http.StatusOK, "DELETE", limits+"/l", "")
		got := root.must(http.StatusCreated, "POST", podsPath+"?dryRun=All", podJSON("p")).body
		if strings.Contains(got, "limits") {
			t.Errorf("limits in %s", got)
		}
	}
}
