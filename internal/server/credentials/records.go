package credentials

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"

	"github.com/crd-server/crd-server/internal/users"
)

// stored is a record with its Secret.
type stored struct {
	*users.Record
	secret *corev1.Secret
}

// records returns all records, in the order of the users' names.
func (m *Manager) records(ctx context.Context) ([]stored, error) {
	secrets, err := m.client.CoreV1().Secrets(users.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("type", string(users.SecretType)).String(),
	})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s serves no Secrets (--builtin-resources), so it cannot know users", m.cluster.Server)
	}
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	records := make([]stored, 0, len(secrets.Items))
	for n := range secrets.Items {
		record, err := users.FromSecret(&secrets.Items[n])
		if err != nil {
			return nil, err
		}
		records = append(records, stored{record, &secrets.Items[n]})
	}
	slices.SortFunc(records, func(a, b stored) int { return strings.Compare(a.Name, b.Name) })
	return records, nil
}

// List returns the records of all users, in the order of their names.
func (m *Manager) List(ctx context.Context) ([]*users.Record, error) {
	found, err := m.records(ctx)
	records := make([]*users.Record, 0, len(found))
	for _, s := range found {
		records = append(records, s.Record)
	}
	return records, err
}

// clean forgets certificates that have expired, and users who have no others. Users who were removed are not forgotten:
// that would make certificates valid that somebody has signed for them with the key of an authority.
func (m *Manager) clean(ctx context.Context) error {
	records, err := m.records(ctx)
	if err != nil {
		return err
	}
	client, now := m.client.CoreV1().Secrets(users.Namespace), m.time()
	for _, s := range records {
		if !s.DropExpired(now) {
			continue
		}
		if len(s.Certificates) == 0 && s.Removed == nil {
			err = client.Delete(ctx, s.secret.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{ResourceVersion: &s.secret.ResourceVersion},
			})
		} else if err = s.WriteTo(s.secret); err == nil {
			_, err = client.Update(ctx, s.secret, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // else somebody else is about to do it
			return fmt.Errorf("clean the record of user %q: %w", s.Name, err)
		}
	}
	return nil
}

// change changes the record of a user, which is new if there is none. If another change comes between, it starts over.
func (m *Manager) change(ctx context.Context, name string, change func(*users.Record) error) error {
	client := m.client.CoreV1().Secrets(users.Namespace)
	err := retry.OnError(retry.DefaultBackoff, retriable, func() error {
		secret, err := client.Get(ctx, users.SecretName(name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			record := &users.Record{Name: name}
			if err := change(record); err != nil {
				return err
			}
			if secret, err = record.Secret(); err == nil {
				_, err = client.Create(ctx, secret, metav1.CreateOptions{})
			}
			return err
		}
		if err != nil {
			return err
		}
		record, err := users.FromSecret(secret)
		if err != nil {
			return err
		}
		if err := change(record); err != nil {
			return err
		}
		if err = record.WriteTo(secret); err == nil {
			_, err = client.Update(ctx, secret, metav1.UpdateOptions{})
		}
		return err
	})
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return fmt.Errorf("write the record of user %q: %w", name, err)
	}
	return err
}

// retriable reports whether somebody else has changed a record at the same time.
func retriable(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
