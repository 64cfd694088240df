package credentials

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"

	"github.com/crd-server/crd-server/internal/users"
)

// records returns all records, in the order of the users' names.
func (m *Manager) records(ctx context.Context) ([]*users.Record, error) {
	secrets, err := m.client.CoreV1().Secrets(users.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("type", string(users.SecretType)).String(),
	})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s serves no Secrets (--builtin-resources), so it cannot know users", m.cluster.Server)
	}
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	records := make([]*users.Record, 0, len(secrets.Items))
	for n := range secrets.Items {
		record, err := users.FromSecret(&secrets.Items[n])
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	slices.SortFunc(records, func(a, b *users.Record) int { return strings.Compare(a.Name, b.Name) })
	return records, nil
}

// clean forgets certificates that have expired, and users who have no others. Users who were removed are not forgotten:
// that would make certificates valid that somebody has signed for them with the key of an authority.
func (m *Manager) clean(ctx context.Context) error {
	records, err := m.records(ctx)
	if err != nil {
		return err
	}
	now := m.time()
	for _, r := range records {
		if !r.DropExpired(now) {
			continue
		}
		err := m.change(ctx, r.Name, func(r *users.Record) error { r.DropExpired(now); return nil })
		if err != nil && !apierrors.IsConflict(err) { // another server cleans it too
			return err
		}
	}
	return nil
}

// change changes the record of a user, which is new if there is none. It removes a record that is empty then. If
// another change comes between, it starts over.
func (m *Manager) change(ctx context.Context, name string, change func(*users.Record) error) error {
	client := m.client.CoreV1().Secrets(users.Namespace)
	err := retry.OnError(retry.DefaultBackoff, retriable, func() error {
		record := &users.Record{Name: name}
		secret, err := client.Get(ctx, users.SecretName(name), metav1.GetOptions{})
		isNew := apierrors.IsNotFound(err)
		if err == nil {
			record, err = users.FromSecret(secret)
		}
		if err != nil && !isNew {
			return err
		}
		if err := change(record); err != nil {
			return err
		}
		switch empty := len(record.Certificates) == 0 && record.Removed == nil; {
		case empty && isNew:
			return nil
		case empty:
			return client.Delete(ctx, secret.Name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{ResourceVersion: &secret.ResourceVersion},
			})
		case isNew:
			if secret, err = record.Secret(); err == nil {
				_, err = client.Create(ctx, secret, metav1.CreateOptions{})
			}
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
func retriable(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}
