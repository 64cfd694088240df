package dynamicstorage

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// checkSupport finds out whether etcd can be asked for the progress of a watch. Older ones could report progress past events
// that they had not sent yet (etcd issue 15220): those are never asked, and consistent reads go to etcd. An etcd
// in the same process has no endpoints, and is as new as this program.
func (f *feed) checkSupport(ctx context.Context) error {
	client := f.store.client
	for _, endpoint := range client.Endpoints() {
		status, err := client.Status(ctx, endpoint)
		if err != nil {
			continue // one that is down tells nothing; it is not the one to watch, either
		}
		supported, err := reportsProgress(status.Version)
		if err != nil {
			return err
		}
		if !supported {
			klog.FromContext(ctx).Info("etcd is too old to report the progress of watches, consistent reads go to it", "endpoint", endpoint, "version", status.Version)
			f.unsupported = true
			f.muted.Store(true)
			return nil
		}
	}
	return nil
}

// reportsProgress says whether an etcd of a version reports the progress of watches rightly.
func reportsProgress(version string) (bool, error) {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return false, fmt.Errorf("version of etcd %q: %w", version, err)
	}
	switch {
	case major != 3:
		return major > 3, nil
	case minor == 4:
		return patch >= 31, nil
	case minor == 5:
		return patch >= 13, nil
	}
	return minor > 5, nil
}
