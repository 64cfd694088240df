package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
)

// TestDeadline checks how requests end at their deadline, in every state of a request.
func TestDeadline(t *testing.T) {
	t.Parallel()
	left := make(chan string, 1)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		info, _ := request.RequestInfoFrom(req.Context())
		defer func() { left <- info.Name }()
		switch info.Name {
		case "sleeps":
			<-req.Context().Done()
			http.Error(w, "a word too late", http.StatusTeapot)
		case "falls-silent":
			<-req.Context().Done()
		case "reads":
			_, err := io.Copy(io.Discard, req.Body)
			if err == nil {
				t.Error("the whole body was read")
			}
			http.Error(w, "incomplete", http.StatusBadRequest)
		case "writes":
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 64<<10))
			}
		case "stops-midway":
			_, _ = w.Write(make([]byte, 64<<10))
			<-req.Context().Done()
			for err := error(nil); err == nil; {
				_, err = w.Write([]byte("more"))
			}
		}
	}), nil)
	client, url := s.as("root", "system:masters")
	path := url + "/apis/example.com/v1/namespaces/default/crontabs/"
	const timeout = `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted ` +
		`timeout","reason":"Timeout","details":{},"code":504}` +
		"\n"

	for _, name := range []string{"sleeps", "falls-silent"} {
		got := do(t, client, "GET", path+name+"?timeout=20ms")
		if <-left; got.code != http.StatusGatewayTimeout || got.body != timeout {
			t.Errorf("%s: got %d %s", name, got.code, got.body)
		}
	}
	t.Run("a client that does not send", func(t *testing.T) {
		body, stuck := io.Pipe()
		defer stuck.Close()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path+"reads?timeout=50ms", body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if <-left; response.StatusCode != http.StatusGatewayTimeout {
			t.Errorf("got %s", response.Status)
		}
	})
	for _, name := range []string{"writes", "stops-midway"} {
		t.Run(name, func(t *testing.T) {
			response, err := client.Get(path + name + "?timeout=100ms")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			<-left // before the client has read the body
			if _, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Error("an aborted response looks complete")
			}
		})
	}
}

// TestRequestContext checks the values that libraries look up in the context.
func TestRequestContext(t *testing.T) {
	t.Parallel()
	began := time.Now()
	served := make(chan context.Context, 1)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		info, _ := request.RequestInfoFrom(ctx)
		if received, ok := request.ReceivedTimestampFrom(ctx); !ok || received.Before(began) || received.After(time.Now()) {
			t.Errorf("received %v", received)
		}
		if id := audit.GetAuditIDTruncated(ctx); id != req.Header.Get("Audit-Id") && id != w.Header().Get("Audit-Id") {
			t.Errorf("audit ID %q", id)
		}
		if deadline, ok := ctx.Deadline(); ok != (info.Verb != "watch") || ok && deadline.After(time.Now().Add(time.Minute)) {
			t.Errorf("%s: deadline %v", info.Verb, deadline)
		}
		if user, ok := request.UserFrom(ctx); !ok || user.GetName() != "root" {
			t.Errorf("user %v", user)
		}
		warning.AddWarning(ctx, "", "one")
		warning.AddWarning(ctx, "", "two")
		warning.AddWarning(ctx, "", "one")
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		if derived.Err() != nil {
			t.Error(derived.Err())
		}
		served <- ctx
	}), nil)
	client, url := s.as("root", "system:masters")
	for _, query := range []string{"", "?watch=true"} {
		got := do(t, client, "GET", url+"/apis/example.com/v1/crontabs"+query, "Audit-Id", "mine")
		if got.header.Get("Audit-Id") != "mine" ||
			strings.Join(got.header.Values("Warning"), ", ") != `299 - "one", 299 - "two"` {
			t.Errorf("got %v", got.header)
		}
		<-(<-served).Done() // the context ends with the request
	}
}
