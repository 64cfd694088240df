package crdservertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// recorder is a test whose log is recorded.
type recorder struct {
	testing.TB
	failed bool
	logged []string
}

func (r *recorder) Failed() bool { return r.failed }

func (r *recorder) Log(args ...any) { r.logged = append(r.logged, fmt.Sprint(args...)) }

func (r *recorder) Logf(format string, args ...any) {
	r.logged = append(r.logged, fmt.Sprintf(format, args...))
}

// TestLog checks when the log of a server is in the log of its test.
func TestLog(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		verbosity int
		failed    bool
		want      string
	}{
		{name: "passed", verbosity: -1},
		{name: "failed", verbosity: -1, failed: true, want: "the end of the server's log:"},
		{name: "at once", verbosity: 0, want: `a "level"=0 "msg"="first" "key"="value"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t, failed: test.failed}
			l := newTestLog(r, test.verbosity)
			logger := l.logger().WithName("a")
			logger.Info("first", "key", "value")
			logger.V(1).Info("not visible")
			logger.Error(errors.New("reason"), "second")
			for _, part := range []string{"thi", "rd\nfour", "th\n"} {
				if _, err := l.Write([]byte(part)); err != nil {
					t.Fatal(err)
				}
			}
			if last := l.last(); last != "fourth" {
				t.Errorf("the last line is %q", last)
			}
			l.end()
			logger.Info("after the end")
			logged := strings.Join(r.logged, "\n")
			if !strings.Contains(logged, test.want) || (test.want == "") != (logged == "") {
				t.Errorf("got %q, want %q", logged, test.want)
			}
			if test.want != "" {
				for line, want := range map[string]bool{
					"first": true, "reason": true, "third\nfourth": true, "not visible": false, "after the end": false,
				} {
					if strings.Contains(logged, line) != want {
						t.Errorf("%q is in the log: %v; the log is\n%s", line, !want, logged)
					}
				}
			}
		})
	}
}

// TestLogIsBounded checks that only the last lines are kept.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	l := newTestLog(&recorder{TB: t}, -1)
	for n := range 10 * kept {
		l.add(fmt.Sprint(n))
	}
	if len(l.lines) != kept || l.last() != fmt.Sprint(10*kept-1) {
		t.Errorf("%d lines, the last is %s", len(l.lines), l.last())
	}
}
