package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// report collects mistakes and warnings, and counts objects.
type report struct {
	findings []finding
	// definitions and objects are valid. failed have a mistake. unchecked need a CRD that has one.
	definitions, objects, failed, unchecked int
}

// finding is a mistake in a manifest, or a warning about it.
type finding struct {
	manifest *manifest
	message  string
}

// String formats the finding as compilers do.
func (f finding) String() string {
	m := f.manifest
	parts := []string{fmt.Sprintf("%s:%d", m.File, m.Line)}
	if what := strings.TrimSpace(m.GetKind() + " " + cmp.Or(m.GetName(), m.GetGenerateName())); what != "" {
		parts = append(parts, what)
	}
	return strings.Join(append(parts, strings.Join(strings.Fields(f.message), " ")), ": ")
}

// fail adds the mistakes in a manifest.
func (r *report) fail(m *manifest, err error) {
	r.failed++
	for _, message := range messages(err) {
		r.findings = append(r.findings, finding{m, message})
	}
}

// print prints the findings in the order of the manifests.
func (r *report) print(out io.Writer) {
	slices.SortStableFunc(r.findings, func(a, b finding) int { return cmp.Compare(a.manifest.number, b.manifest.number) })
	for _, finding := range r.findings {
		fmt.Fprintln(out, finding)
	}
}

// messages returns the causes of a Status that lists them, and else the message. It sorts the causes: the server
// returns them in no order.
func messages(err error) []string {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.ErrStatus.Details == nil ||
		len(status.ErrStatus.Details.Causes) == 0 {
		return []string{err.Error()}
	}
	var ofFields, ofObject []string
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Field == "" || cause.Field == "<nil>" {
			ofObject = append(ofObject, cause.Message)
		} else {
			ofFields = append(ofFields, cause.Field+": "+cause.Message)
		}
	}
	slices.Sort(ofFields)
	return append(ofFields, ofObject...)
}

// manifestKey is the context key of the manifest of a request.
type manifestKey struct{}

// withManifest returns the context of requests that are about a manifest.
func withManifest(ctx context.Context, m *manifest) context.Context {
	return context.WithValue(ctx, manifestKey{}, m)
}

// HandleWarningHeaderWithContext adds the warnings of the server. It implements rest.WarningHandlerWithContext.
func (r *report) HandleWarningHeaderWithContext(ctx context.Context, _ int, _, text string) {
	m, ok := ctx.Value(manifestKey{}).(*manifest)
	if !ok {
		return
	}
	warning := finding{m, "Warning: " + text}
	if !slices.Contains(r.findings, warning) { // several requests of an object can have the same
		r.findings = append(r.findings, warning)
	}
}

// result returns the counts, as an error if there are mistakes.
func (r *report) result() (string, error) {
	if r.failed == 0 {
		return fmt.Sprintf("%s and %s are valid", count(r.definitions, "CRD"), count(r.objects, "object")), nil
	}
	verb := "are"
	if r.failed == 1 {
		verb = "is"
	}
	all := count(r.failed+r.definitions+r.objects+r.unchecked, "object")
	result := fmt.Sprintf("%d of %s %s invalid", r.failed, all, verb)
	if r.unchecked > 0 {
		result += fmt.Sprintf(", %d not checked because their CRDs are", r.unchecked)
	}
	return "", errors.New(result)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
