package admission

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuotaConfiguration checks which configurations of the plugin ResourceQuota are accepted.
func TestQuotaConfiguration(t *testing.T) {
	t.Parallel()
	const (
		of      = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: "
		limited = `[{name: ResourceQuota, configuration: {apiVersion: apiserver.config.k8s.io/v1,
			kind: ResourceQuotaConfiguration, limitedResources: [%s]}}]`
		other = "[{name: ValidatingAdmissionWebhook, path: webhooks.yaml}]"
	)
	for plugins, want := range map[string]string{
		other: "[]",
		fmt.Sprintf(limited, "{resource: pods, matchContains: [cpu]}"):        "[{ pods [cpu] []}]",
		fmt.Sprintf(limited, "{matchContains: [cpu]}"):                        "limitedResources[0].resource: Required value",
		"[{name: ResourceQuota, configuration: {apiVersion: v1, kind: Odd}}]": `no kind "Odd" is registered`,
		"odd": "--admission-control-config-file",
	} {
		file := filepath.Join(files(t, map[string]string{"config.yaml": of + plugins}), "config.yaml")
		config, err := (&Options{ConfigFile: file}).QuotaConfiguration()
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(config.LimitedResources)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s\nwant: %s", plugins, got, want)
		}
	}
	if config, err := new(Options).QuotaConfiguration(); config != nil || err != nil {
		t.Errorf("without a file: %v, %v", config, err)
	}
}
