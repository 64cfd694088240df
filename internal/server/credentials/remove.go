package credentials

import (
	"context"
	"fmt"

	"github.com/crd-server/crd-server/internal/users"
)

// Remove makes the server refuse all client certificates of a user. A user who was not added is removed only if unknown
// is true: certificates that were signed without Add have no record.
func (m *Manager) Remove(ctx context.Context, name string, unknown bool) error {
	if !users.Removable(name) {
		return fmt.Errorf("user %q belongs to the system and cannot be removed", name)
	}
	if err := m.clean(ctx); err != nil {
		return err
	}
	now := m.time()
	return m.change(ctx, name, func(r *users.Record) error {
		switch {
		case r.Active(now) || unknown:
		case r.Removed != nil:
			return fmt.Errorf("user %q was removed already, at %s", name, r.Removed.UTC().Format(timeFormat))
		default:
			return fmt.Errorf("user %q was not added, or has expired: --force refuses its certificates all the same", name)
		}
		r.Remove(now)
		return nil
	})
}
