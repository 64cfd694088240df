package stored

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestUnreadable(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	entry := &dynamicstorage.Entry{Key: "ns/a", Err: broken}
	for name, tc := range map[string]struct {
		view *dynamicstorage.View
		want error
	}{
		"no view":     {nil, broken},
		"broken view": {&dynamicstorage.View{Err: broken}, broken},
		"view":        {&dynamicstorage.View{}, nil},
	} {
		got := Unreadable(entry, tc.view)
		if (got != nil) != (tc.want != nil) || got != nil && !errors.Is(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	encrypted := fmt.Errorf("%w revision=0: %w", dynamicstorage.ErrUntransformable, broken)
	for want, err := range map[string]error{
		"object not decodable: broken":                                  broken,
		"data from the storage is not transformable revision=0: broken": encrypted,
	} {
		const prefix = "StorageError: corrupt object, Code: 7, Key: /example.com/gadgets/ns/a, ResourceVersion: 0, " +
			"AdditionalErrorMsg: "
		got := Unreadable(&dynamicstorage.Entry{Key: "ns/a", Err: err}, nil).At("example.com/gadgets")
		if got.Error() != prefix+want {
			t.Errorf("got %s", got)
		}
	}
}

func TestCorruptErrorsAPIError(t *testing.T) {
	t.Parallel()
	var corrupt CorruptErrors
	for n := range maxListedCorrupt + 1 {
		corrupt = append(corrupt, &CorruptError{Key: fmt.Sprintf("ns/g%d", n), Err: errors.New("broken")})
	}
	err := corrupt.APIError(schema.GroupResource{Group: "example.com", Resource: "gadgets"})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.ReasonForError(err) != metav1.StatusReasonStoreReadError {
		t.Fatal(err)
	}
	causes := status.Status().Details.Causes
	if len(causes) != maxListedCorrupt+1 || causes[0].Field != "ns/g0" ||
		causes[maxListedCorrupt].Type != metav1.CauseTypeTooMany {
		t.Errorf("%d causes: %v", len(causes), causes)
	}
	if !strings.HasSuffix(err.Error(), "(and 99 more)") {
		t.Error(err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		namespaced           bool
		namespace, name, key string
		err                  string
	}{
		{true, "ns", "a", "ns/a", ""},
		{false, "", "a", "a", ""},
		{true, "", "a", "", "Namespace parameter required."},
		{false, "", "", "", "Name parameter required."},
		{false, "", "..", "", `Name parameter invalid: "..": may not be '..'`},
		{true, "n/s", "a", "", `Namespace parameter invalid: "n/s": may not contain '/'`},
	} {
		key, err := Key(tc.namespaced, tc.namespace, tc.name)
		if key != tc.key || fmt.Sprint(err) != map[bool]string{true: "<nil>", false: tc.err}[tc.err == ""] {
			t.Errorf("%q %q: %q, %v", tc.namespace, tc.name, key, err)
		}
		if tc.key != "" && (Name(key) != tc.name || Namespace(key) != tc.namespace) {
			t.Errorf("%s: name %q, namespace %q", key, Name(key), Namespace(key))
		}
	}
}
