package dynamicstorage

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// checkWritten compares the views that a write has attached to its entry with those that a read makes of the stored
// value after a restart. It reports differences as CheckEvery does.
func (r *Resource) checkWritten(ctx context.Context, e *Entry) {
	checked := Checked{Resource: r.name, Revision: e.Revision, Entries: 1}
	checked.compareViews(ctx, e, e)
	if checked.Err() != nil {
		r.counts.different.Add(1)
		checked.log(ctx)
	}
}

// log logs the differences.
func (c *Checked) log(ctx context.Context) {
	klog.FromContext(ctx).Error(c.Err(), "Cache inconsistent with etcd", "resource", c.Resource, "revision", c.Revision)
}

// compareViews compares the views that writes have attached to an entry with those that are made of the stored entry.
// It leaves out views that cannot be made now.
func (c *Checked) compareViews(ctx context.Context, e, stored *Entry) {
	for kept := e.views.Load(); kept != nil; kept = kept.next {
		if !kept.attached || kept.viewer.closed.Load() {
			continue
		}
		made, err := kept.viewer.make(ctx, []*Entry{stored})
		if err != nil || len(made) != 1 {
			continue
		}
		if difference := kept.view.difference(made[0]); difference != "" {
			c.differs("%s@%d: its view %s", e.Key, e.Revision, difference)
		}
	}
}

// difference describes how a kept view differs from the one that was made of the stored value. It is empty if they are
// the same.
func (v *View) difference(made *View) string {
	switch {
	case (v.Err == nil) != (made.Err == nil):
		return fmt.Sprintf("has the error %v instead of %v", v.Err, made.Err)
	case !bytes.Equal(v.Bytes, made.Bytes):
		at := commonPrefix(v.Bytes, made.Bytes)
		return fmt.Sprintf("has %s instead of %s at byte %d", excerpt(v.Bytes, at), excerpt(made.Bytes, at), at)
	case v.At != made.At:
		return fmt.Sprintf("has its resourceVersion at %d instead of %d", v.At, made.At)
	case v.Labels != made.Labels:
		return fmt.Sprintf("has the labels %q instead of %q", v.Labels.packed, made.Labels.packed)
	case v.Fields != made.Fields:
		return fmt.Sprintf("has the fields %q instead of %q", v.Fields.packed, made.Fields.packed)
	}
	return ""
}

// commonPrefix returns the number of bytes at which a and b begin to differ.
func commonPrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt returns a short part of a text around the byte at an offset.
func excerpt(text []byte, at int) []byte {
	const before, after = 40, 80
	return text[max(0, at-before):min(len(text), at+after)]
}
