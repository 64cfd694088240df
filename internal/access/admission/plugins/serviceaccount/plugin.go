// Package serviceaccount is the admission plugin ServiceAccount: it gives pods their service accounts, and the tokens
// of these.
//
// references.go decides which secrets a pod may use.
package serviceaccount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "ServiceAccount"

// DefaultAccount is the service account of pods that name none.
const DefaultAccount = "default"

// Accounts returns a service account. The text of its error follows "error looking up service account".
type Accounts func(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error)

// New returns the plugins for new pods and for ephemeral containers.
func New(accounts Accounts) []resource.Plugin {
	pods := corev1.Resource("pods")
	return []resource.Plugin{
		{
			Name: Name, Resource: pods,
			Mutate: resource.OnCreate(accounts.complete), Validate: resource.OnCreate(accounts.check),
		},
		{Name: Name, Resource: pods, Subresource: "ephemeralcontainers", Validate: accounts.checkEphemeral},
	}
}

// complete gives a new pod its account and what follows from that: a token and secrets for images. The kubelet, which
// makes mirror pods, expects them as they are.
func (a Accounts) complete(ctx context.Context, pod *corev1.Pod) error {
	if metav1.HasAnnotation(pod.ObjectMeta, corev1.MirrorPodAnnotationKey) {
		return checkMirrorReferences(pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = DefaultAccount, DefaultAccount
	}
	account, err := a.of(ctx, pod)
	if err != nil {
		return err
	}
	if ptr.Deref(cmp.Or(pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken), true) {
		mountToken(&pod.Spec)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	return checkReferences(account, pod)
}

// check checks a new pod after webhooks may have changed it.
func (a Accounts) check(ctx context.Context, pod *corev1.Pod) error {
	if metav1.HasAnnotation(pod.ObjectMeta, corev1.MirrorPodAnnotationKey) {
		return checkMirrorReferences(pod)
	}
	account, err := a.of(ctx, pod)
	if err != nil {
		return err
	}
	return checkReferences(account, pod)
}

// of returns the account of a pod.
func (a Accounts) of(ctx context.Context, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	name := pod.Spec.ServiceAccountName
	account, err := a(ctx, pod.Namespace, name)
	if err != nil {
		return nil, fmt.Errorf("error looking up service account %s/%s: %w", pod.Namespace, name, err)
	}
	return account, nil
}

// checkMirrorReferences refuses references of a mirror pod to objects that its node may not read.
func checkMirrorReferences(pod *corev1.Pod) error {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return errors.New("a mirror pod may not reference service accounts")
	case referencesSecrets(&pod.Spec):
		return errors.New("a mirror pod may not reference secrets")
	}
	for n := range pod.Spec.Volumes {
		projected := pod.Spec.Volumes[n].Projected
		if projected != nil && slices.ContainsFunc(projected.Sources, func(source corev1.VolumeProjection) bool {
			return source.ServiceAccountToken != nil
		}) {
			return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
		}
	}
	return nil
}

const (
	// tokenVolume begins the name of the volume with the token.
	tokenVolume = "kube-api-access-"
	// tokenPath is where programs in containers find the token.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the validity that the kubelet asks for.
	tokenSeconds = 60*60 + 7
)

// mountToken mounts the volume with the token in the containers that mount nothing else there, and adds the volume if
// the pod does not have it.
func mountToken(spec *corev1.PodSpec) {
	found := slices.IndexFunc(spec.Volumes, func(volume corev1.Volume) bool {
		return strings.HasPrefix(volume.Name, tokenVolume)
	})
	name := names.SimpleNameGenerator.GenerateName(tokenVolume)
	if found >= 0 {
		name = spec.Volumes[found].Name
	}
	mounted := false
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for n := range containers {
			mounts := &containers[n].VolumeMounts
			if slices.ContainsFunc(*mounts, func(mount corev1.VolumeMount) bool { return mount.MountPath == tokenPath }) {
				continue
			}
			*mounts = append(*mounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath})
			mounted = true
		}
	}
	if mounted && found < 0 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: tokenSource()})
	}
}

// tokenSource returns the content of the volume: the token, the authority of the server and the name of the namespace.
func tokenSource() corev1.VolumeSource {
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Path: "token", ExpirationSeconds: ptr.To[int64](tokenSeconds),
			}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}
}
