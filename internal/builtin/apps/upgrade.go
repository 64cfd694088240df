package apps

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// upgradeDeployment returns a Deployment of an older version in v1, which has an annotation instead of a field for the
// revision to return to.
func upgradeDeployment(obj runtime.Object) (runtime.Object, error) {
	deployment := &appsv1.Deployment{}
	if err := resource.Transcode(obj, deployment); err != nil {
		return nil, err
	}
	set := func(revision int64) {
		value := strconv.FormatInt(revision, 10)
		metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, appsv1.DeprecatedRollbackTo, value)
	}
	switch old := obj.(type) {
	case *appsv1beta1.Deployment:
		if old.Spec.RollbackTo != nil {
			set(old.Spec.RollbackTo.Revision)
		}
	case *extensionsv1beta1.Deployment:
		if old.Spec.RollbackTo != nil {
			set(old.Spec.RollbackTo.Revision)
		}
	}
	return deployment, nil
}

// upgradeDaemonSet returns a DaemonSet of an older version in v1.
func upgradeDaemonSet(obj runtime.Object) (runtime.Object, error) {
	daemon := &appsv1.DaemonSet{}
	if err := resource.Transcode(obj, daemon); err != nil {
		return nil, err
	}
	if old, ok := obj.(*extensionsv1beta1.DaemonSet); ok {
		setTemplateGeneration(daemon, old.Spec.TemplateGeneration)
	}
	return daemon, nil
}
