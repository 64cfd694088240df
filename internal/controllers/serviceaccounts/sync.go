package serviceaccounts

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names are those of kube-controller-manager, and the annotation of the ConfigMap is.
const (
	accountName = "default"
	mapName     = "kube-root-ca.crt"
	mapKey      = "ca.crt"

	description     = "kubernetes.io/description"
	mapsDescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints " +
		"such as " +
		"the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of " +
		"Kubernetes clusters."
)

// MapFields are the managed fields of a new ConfigMap, in the format FieldsV1. A new account has none.
const MapFields = `{"f:data":{".":{},"f:ca.crt":{}},"f:metadata":{"f:annotations":{".":{},` +
	`"f:kubernetes.io/description":{}}}}`

// Account returns the account of a namespace.
func Account(namespace string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName, Namespace: namespace}}
}

// RootMap returns the ConfigMap with the root certificates of a namespace.
func RootMap(namespace string, certificates []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: mapName, Namespace: namespace, Annotations: map[string]string{description: mapsDescription},
		},
		Data: map[string]string{mapKey: string(certificates)},
	}
}

// The ConfigMap that says since when the server records the use of tokens in Secrets. kube-controller-manager deletes
// tokens that have not been used for long, and waits for the ConfigMap. The names are kube-apiserver's.
const (
	trackingMap = "kube-apiserver-legacy-service-account-token-tracking"
	trackingKey = "since"
	// TrackingFields are its managed fields.
	TrackingFields = `{"f:data":{".":{},"f:since":{}}}`
)

// Tracking returns the ConfigMap of a server that starts now.
func Tracking(now time.Time) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: trackingMap, Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{trackingKey: now.UTC().Format(time.DateOnly)},
	}
}

// syncAccount creates the account of a namespace if it does not exist.
func (r *run) syncAccount(ctx context.Context, namespace string) error {
	found, err := r.config.Store.Read(ctx, accountFolder+"/"+namespace+"/"+accountName)
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	if !found.Deleted {
		return nil
	}
	_, err = r.client.ServiceAccounts(namespace).Create(ctx, Account(namespace), metav1.CreateOptions{})
	return created(err, "create account")
}

// syncMap creates the ConfigMap of a namespace, or corrects it.
func (r *run) syncMap(ctx context.Context, namespace string) error {
	wanted := RootMap(namespace, r.roots.CurrentCABundleContent())
	found, err := r.config.Store.Read(ctx, mapFolder+"/"+namespace+"/"+mapName)
	if err == nil {
		err = found.Err
	}
	if err != nil {
		return fmt.Errorf("read root certificate: %w", err)
	}
	if found.Deleted {
		_, err := r.client.ConfigMaps(namespace).Create(ctx, wanted, metav1.CreateOptions{})
		return created(err, "create root certificate")
	}
	obj, _, err := r.config.Set.Codecs.UniversalDeserializer().Decode(found.Value, nil, nil)
	if err != nil {
		return fmt.Errorf("decode root certificate: %w", err)
	}
	stored, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return fmt.Errorf("root certificate is a %T", obj)
	}
	if maps.Equal(stored.Data, wanted.Data) && stored.Annotations[description] != "" {
		return nil
	}
	stored.Data = wanted.Data
	metav1.SetMetaDataAnnotation(&stored.ObjectMeta, description, mapsDescription)
	stored.ResourceVersion = fmt.Sprint(found.Revision)
	_, err = r.client.ConfigMaps(namespace).Update(ctx, stored, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the change that was faster is an event
	}
	if err != nil {
		return fmt.Errorf("correct root certificate: %w", err)
	}
	return nil
}

// created returns the error of a creation, unless there is nothing more to do: somebody else was faster, or the
// namespace ends.
func created(err error, what string) error {
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
