package fault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/fault/hostile"
)

// untilPatience bounds requests that are repeated until their answer is the expected one.
const untilPatience = 25 * time.Second

// prepare sends what an input needs first, and returns whether all of it was done.
func (v *victim) prepare(t *testing.T, input *hostile.Input) bool {
	t.Helper()
	s := sending{client: v.crew(t, 1)[0], user: v.user}
	for n := range input.Prepare {
		r := &input.Prepare[n]
		if s.send(t.Context(), r); r.Until == 0 && s.last >= 300 && s.last != http.StatusConflict || s.unanswered > 0 {
			t.Logf("%s %s: %d %.300s", r.Method, r.Path, s.last, s.fault)
			return false
		}
	}
	return true
}

// run prepares and sends an input.
func (v *victim) run(t *testing.T, input *hostile.Input) *cost {
	t.Helper()
	if !v.prepare(t, input) {
		return &cost{unanswered: "preparation"}
	}
	got := v.send(t.Context(), t, input)
	got.memory = v.memory.above()
	return got
}

// send sends the phases of an input, until one is not answered.
func (v *victim) send(ctx context.Context, t *testing.T, input *hostile.Input) *cost {
	t.Helper()
	got := &cost{}
	before := v.processor()
	for _, p := range input.Phases {
		all := v.sendPhase(ctx, t, p)
		answers := map[int]int{}
		for _, s := range all {
			for code, n := range s.answers {
				answers[code] += n
			}
			if s.slowest > got.slowest {
				got.slowest, got.slowestPhase = s.slowest, p.Name
			}
			if s.unanswered > 0 {
				got.unanswered = p.Name
			}
			if s.fault != "" {
				got.fault = p.Name + ": " + s.fault
			}
			if p.Name == hostile.GetObject || p.Name == hostile.ListAsYAML {
				got.read = max(got.read, s.size)
			}
			v.version = s.version
		}
		got.answers = append(got.answers, counts(answers))
		if got.unanswered != "" || p.Essential && all[0].last >= http.StatusBadRequest {
			break
		}
	}
	got.processor = v.processor() - before
	return got
}

// sendPhase sends the requests of a phase with its clients.
func (v *victim) sendPhase(ctx context.Context, t *testing.T, p hostile.Phase) []*sending {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := make(chan *hostile.Request)
	var (
		all     []*sending
		working sync.WaitGroup
	)
	for _, c := range v.crew(t, max(1, p.Clients)) {
		s := &sending{client: c, user: v.user, version: v.version, giveUp: cancel}
		all = append(all, s)
		working.Go(func() {
			for r := range waiting {
				s.send(ctx, r)
			}
		})
	}
	began := time.Now()
	for n := range p.Requests {
		if p.Over > 0 {
			pause(ctx, time.Until(began.Add(p.Over*time.Duration(n)/time.Duration(len(p.Requests)))))
		}
		if ctx.Err() != nil {
			break
		}
		waiting <- &p.Requests[n]
	}
	close(waiting)
	working.Wait()
	return all
}

// sending sends requests with one client, and counts the answers.
type sending struct {
	client *client
	user   string
	// giveUp ends the phase after a request without an answer.
	giveUp func()
	// version is the resourceVersion that was returned last.
	version    string
	last       int
	answers    map[int]int
	unanswered int
	slowest    time.Duration
	// size is the number of bytes of the largest response.
	size int64
	// fault is the first answer that no server should give.
	fault string
}

// send sends a request, again and again if it has Until.
func (s *sending) send(ctx context.Context, r *hostile.Request) {
	for began := time.Now(); ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		code, err := s.once(ctx, r)
		s.last = code
		switch {
		case err == nil && (r.Until == 0 || code == r.Until):
			s.count(code)
			return
		case r.Until == 0 || time.Since(began) > untilPatience:
			s.unanswered++
			if s.giveUp != nil {
				s.giveUp()
			}
			return
		}
	}
}

func (s *sending) count(code int) {
	if s.answers == nil {
		s.answers = map[int]int{}
	}
	s.answers[code]++
}

// versionField is the resourceVersion in an answer.
var versionField = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// once sends a request and reads the answer.
func (s *sending) once(ctx context.Context, r *hostile.Request) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, size(requestTimeout, hostileDeadline+5*time.Second))
	defer cancel()
	body := bytes.Replace(r.Body, []byte(hostile.VersionPlaceholder), []byte(s.version), 1)
	req, err := http.NewRequestWithContext(ctx, r.Method, s.client.base+r.Path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{"Content-Type": r.ContentType, "Accept": r.Accept,
		"Content-Encoding": r.Encoding} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if len(body) > 0 && r.ContentType == "" {
		req.Header.Set("Content-Type", asJSON)
	}
	began := time.Now()
	resp, err := s.client.sendAs(s.user, req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	start, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	var rest int64
	if err == nil {
		rest, err = io.Copy(io.Discard, resp.Body)
	}
	s.size = max(s.size, int64(len(start))+rest)
	s.slowest = max(s.slowest, time.Since(began))
	if found := versionField.FindSubmatch(start); found != nil {
		s.version = string(found[1])
	}
	if resp.StatusCode == http.StatusInternalServerError && s.fault == "" && !expected(string(start)) {
		s.fault = fmt.Sprintf("%s %.100s: %d %.300s", r.Method, r.Path, resp.StatusCode, start)
	}
	return resp.StatusCode, err
}

// expected returns whether kube-apiserver answers with this 500 too.
func expected(answer string) bool {
	return strings.Contains(answer, "request is too large") || strings.Contains(answer, "typed patch object")
}

// counts describes how often each status was answered.
func counts(answers map[int]int) string {
	var texts []string
	for code, n := range answers {
		text := fmt.Sprint(code)
		if n > 1 {
			text += fmt.Sprintf("x%d", n)
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, "+")
}
