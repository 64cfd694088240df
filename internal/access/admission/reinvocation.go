package admission

import (
	"context"
	"io"

	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// reinvocation is the name of the plugin that calls those of the resource again. It is the first of all.
const reinvocation = "Reinvocation"

// reinvoker calls the plugins of the resource again after a webhook or a policy has changed an object, as
// kube-apiserver calls its own: a container that a webhook adds to a pod gets limits and a token too. The handler has
// called them first.
type reinvoker struct{ *admission.Handler }

var _ admission.MutationInterface = reinvoker{}

func newReinvoker(io.Reader) (admission.Interface, error) {
	return reinvoker{admission.NewHandler(admission.Create, admission.Update)}, nil
}

// Admit implements admission.MutationInterface.
func (reinvoker) Admit(ctx context.Context, attributes admission.Attributes, _ admission.ObjectInterfaces) error {
	if !attributes.GetReinvocationContext().IsReinvoke() {
		return nil
	}
	return resource.MutateAgain(ctx)
}
