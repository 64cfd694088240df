package server

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	testingclock "k8s.io/utils/clock/testing"
)

// TestQuietLog checks what is left of a log that is not verbose.
func TestQuietLog(t *testing.T) {
	t.Parallel()
	const status = `E1 status.go:71] "Unhandled Error" err="apiserver received an error that is not an metav1.Status: `
	for _, test := range []struct{ entry, want string }{
		{"I1 a.go:1] info\n", ""},
		{"W1 a.go:1] warning\n", "W1 a.go:1] warning\n"},
		{"E1 a.go:1] error\n", "E1 a.go:1] error\n"},
		{`I1 a.go:1] "Created" logger="crds" name="a"`, `I1 a.go:1] "Created" logger="crds" name="a"`},
		{`I1 a.go:1] "a" b=" logger=\"crds\""`, ""},
		{`E1 wrap.go:53] "Timeout or abort while handling" method="GET"`, ""},
		{`E1 a.go:1] "Failed" err="Timeout or abort while handling"`,
			`E1 a.go:1] "Failed" err="Timeout or abort while handling"`},
		{`E1 timeout.go:140] "Post-timeout activity" result=null`, ""},
		{`E1 timeout.go:140] "Post-timeout activity" result="nil map"`,
			`E1 timeout.go:140] "Post-timeout activity" result="nil map"`},
		{`W1 dispatcher.go:225] rejected by webhook "a": &errors.StatusError{}`, ""},
		{status + `read tcp: connection reset by peer"`, ""},
		{status + `nil map"`, status + `nil map"`},
		{`E1 dispatcher.go:213] "Unhandled Error" err="failed calling webhook \"a\""`, ""},
		{status + `errors.aggregate{(*field.Error)(0x1)}: metadata.name: Invalid value"`, ""},
		{status + `*fmt.wrapError: failed to create manager for existing fields: .spec.a: field not declared in schema"`, ""},
		{"E1 a.go:1] \"Unhandled Error\" err=<\n\tadmission webhook \"a\" denied\n\tit\n >", ""},
		{"E1 a.go:1] \"Unhandled Error\" err=<\n\tnil\n\tmap\n >", "E1 a.go:1] \"Unhandled Error\" err=<\n\tnil\n\tmap\n >"},
		{`E1 warning.go:118] "Unhandled Error" err="exceeded max warning header size, truncating"`, ""},
		{`E1 webhook.go:264] Failed to make webhook authorizer request: Post "https://a": context canceled`, ""},
		{`E1 webhook.go:264] Failed to make webhook authorizer request: EOF`,
			`E1 webhook.go:264] Failed to make webhook authorizer request: EOF`},
		{`{"ts":1,"caller":"a.go:1","msg":"info","v":0}`, `{"ts":1,"caller":"a.go:1","msg":"info","v":0}`},
		{`{"ts":1,"caller":"a.go:1","msg":"Couldn't parse request","err":"x"}`, ""},
		{`{"ts":1,"msg":"Unhandled Error","logger":"UnhandledError","err":"failed calling webhook \"a\""}`, ""},
		{`{"ts":1,"msg":"Unhandled Error","logger":"UnhandledError","err":"nil map"}`,
			`{"ts":1,"msg":"Unhandled Error","logger":"UnhandledError","err":"nil map"}`},
	} {
		var out bytes.Buffer
		w := newQuietLog(&out)
		if n, err := w.Write([]byte(test.entry)); n != len(test.entry) || err != nil {
			t.Error(n, err)
		}
		if out.String() != test.want {
			t.Errorf("%s\ngot  %q\nwant %q", test.entry, out.String(), test.want)
		}
	}
}

// TestWebhookWarnings checks that a webhook that fails is one warning in a while.
func TestWebhookWarnings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	clock := testingclock.NewFakePassiveClock(time.Now())
	w := newQuietLog(&out)
	w.warned = cache.NewLRUExpireCacheWithClock(maxWarned, clock)
	open := func(name, cause string) string {
		return "W1 dispatcher.go:205] Failed calling webhook, failing open " + name + ": " + cause + "\n"
	}
	conversion := `E1 status.go:71] "Unhandled Error" err="apiserver received an error that is not an metav1.Status: ` +
		`conversion webhook for a/v1, Kind=A failed: refused"` + "\n"
	policies := `E1 policy_source.go:266] "Unhandled Error" err="encountered error syncing policies: ` +
		`failed to find resource referenced by paramKind: 'a/v1, Kind=A'. Rescheduling policy sync"` + "\n"
	refused := open("a", "connection refused")
	for _, entry := range []string{
		refused, open("a", "no route"), open("b", "no route"), open("c", "context canceled"), conversion, conversion,
		policies, policies,
	} {
		if _, err := w.Write([]byte(entry)); err != nil {
			t.Error(err)
		}
	}
	clock.SetTime(clock.Now().Add(warnInterval + 1))
	if _, err := w.Write([]byte(refused)); err != nil {
		t.Error(err)
	}
	want := refused + open("b", "no route") + strings.Replace(conversion, "E", "W", 1) +
		strings.Replace(policies, "E", "W", 1) + refused
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}
