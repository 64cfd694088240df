package crdhandler

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// deadWebhookCRD returns a CRD with two versions whose conversion webhook does not answer. The storage version is v1.
func deadWebhookCRD(t *testing.T) string {
	hook := httptest.NewTLSServer(http.NotFoundHandler())
	hook.Close()
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: hook.Certificate().Raw}))
	version := func(name string, storage bool) string {
		return fmt.Sprintf(`{"name":"%s","served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object",`+
			`"x-kubernetes-preserve-unknown-fields":true}}}`, name, storage)
	}
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"machines.example.com","uid":"machines"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"machines","singular":"machine","kind":"Machine",
"listKind":"MachineList"},
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"%s",
"caBundle":"%s"}}},
"versions":[%s,%s]},
"status":{"acceptedNames":{"plural":"machines","singular":"machine","kind":"Machine","listKind":"MachineList"},
"storedVersions":["v1","v2"]}}`,
		hook.URL, ca, version("v1", true), version("v2", false))
}

// TestDeadWebhook checks that requests that need no conversion succeed without the webhook, and that the others fail.
func TestDeadWebhook(t *testing.T) {
	t.Parallel()
	converters, err := conversion.NewFactory(webhook.NewDefaultServiceResolver(),
		webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	config := &Config{Store: newStore(t, dynamicstorage.Options{Header: widgetHeader}), MaxRequestBodyBytes: 3 << 20,
		Converters: converters}
	info := infoOf(t, config, deadWebhookCRD(t))
	put := func(name, version, metadata string) {
		t.Helper()
		value := fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Machine","metadata":{"name":"%s","namespace":"ns",`+
			`"uid":"uid-%s","labels":{"in":"%s"}%s},"spec":{}}`+"\n",
			version, name, name, version, metadata)
		if _, err := etcd.Client.Put(t.Context(), etcd.Prefix(t)+"/example.com/machines/ns/"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	const (
		finalizers = `,"finalizers":["example.com/wait"]`
		metadata   = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		list       = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		json       = "application/json"
		// the Accept header of a DELETE of metadata clients
		protobuf = "application/vnd.kubernetes.protobuf,application/json"
	)
	// the stored version; the endpoint of the other version has to convert it
	for _, version := range []string{"v1", "v2"} {
		put("read-"+version, version, "")
		put("gone-"+version, version, "")
		put("held-"+version, version, finalizers)
		put("all-"+version, version, `,"annotations":{"a":"b"}`)
	}
	for _, c := range []struct {
		served, method, path, accept string
		code                         int
		want                         string
	}{
		{"v1", "GET", "read-v1", json, 200, `"name":"read-v1"`},
		{"v2", "GET", "read-v1", json, 500, "conversion webhook for example.com/v1, Kind=Machine failed"},
		{"v1", "GET", "", json, 500, "conversion webhook"},
		{"v1", "GET", "read-v1", metadata, 200,
			`"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"read-v1"`},
		{"v2", "GET", "read-v1", metadata, 500, "conversion webhook"},
		{"v1", "GET", "", list, 500, "conversion webhook"},
		{"v2", "GET", "?labelSelector=in%3Dv1", list, 500, "conversion webhook"},
		{"v2", "GET", "?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dread-v1", metadata, 200,
			`"type":"ERROR"`},
		// as upstream
		{"v2", "DELETE", "gone-v1", json, 500, "conversion webhook for example.com/v1, Kind=Machine failed"},
		{"v2", "DELETE", "?fieldSelector=metadata.name%3Dgone-v1", json, 500, "conversion webhook"},
		{"v2", "DELETE", "gone-v1", protobuf, 200,
			`"status":"Success","details":{"name":"gone-v1","group":"example.com","kind":"machines","uid":"uid-gone-v1"}`},
		{"v1", "DELETE", "gone-v2", json, 200, `"status":"Success"`},
		{"v1", "GET", "gone-v2", metadata, 404, `"NotFound"`},
		{"v2", "DELETE", "held-v1", protobuf, 200,
			`"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"`},
		{"v1", "GET", "held-v1", json, 200, `"deletionTimestamp":`},
		{"v1", "DELETE", "held-v2", json, 200, `"status":"Success"`}, // stays in v2
		{"v2", "GET", "held-v2", json, 200, `"deletionTimestamp":`},
		{"v2", "DELETE", "held-v1", metadata, 200, `"kind":"Status"`},
		{"v2", "DELETE", "?fieldSelector=metadata.name%3Dall-v1", protobuf, 200, `"status":"Success"`},
		{"v1", "DELETE", "?labelSelector=in%3Dv2", list, 200, `"uid":"uid-all-v2"`},
		{"v1", "GET", "", json, 500, "conversion webhook"},
		{"v1", "GET", "?fieldSelector=metadata.name%3Dheld-v1", json, 200, `"deletionTimestamp":`},
	} {
		t.Run(fmt.Sprintf("%s %s %s as %s", c.served, c.method, c.path, strings.TrimPrefix(c.accept, json)),
			func(t *testing.T) {
				w := &writing{TB: t, served: info.versions[c.served]}
				answer := w.sendAccepting(c.accept, c.method, c.path, "", "")
				if body := answer.Body.String(); answer.Code != c.code || !strings.Contains(body, c.want) {
					t.Errorf("got %d %s\nwant %d %s", answer.Code, body, c.code, c.want)
				}
			})
	}
	stored, err := etcd.Client.Get(t.Context(), etcd.Prefix(t)+"/example.com/machines/ns/held-v2")
	if err != nil || len(stored.Kvs) != 1 || !strings.Contains(string(stored.Kvs[0].Value),
		`"apiVersion":"example.com/v2"`) {
		t.Errorf("an object that cannot be converted is stored as %v: %v", stored.Kvs, err)
	}
}
