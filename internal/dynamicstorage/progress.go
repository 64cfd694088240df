package dynamicstorage

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Intervals of progress requests. The events that bring a wanted revision are mostly on their way already, so the
// first request is delayed a little. While no reader waits, progress is still requested now and then, so that the
// bookmarks of quiet resources advance.
const (
	firstRequest = time.Millisecond
	maxInterval  = 100 * time.Millisecond
	idleInterval = 20 * time.Second
	// silentAfter is how long etcd may leave requests unanswered until reads stop waiting for it.
	silentAfter = time.Second
)

// progressRequester asks etcd for the progress of the feed's watch while readers wait for it, or the watch is unproven.
// It belongs to the feed's goroutine.
type progressRequester struct {
	feed     *feed
	watch    *feedWatch
	watcher  clientv3.Watcher
	timer    clock.Timer
	interval time.Duration // until the next request; 0 while no reader waits
	// unanswered is the time of the first request that has had no answer; zero if there is none.
	unanswered time.Time
}

func newProgressRequester(w *feedWatch, watcher clientv3.Watcher) *progressRequester {
	p := &progressRequester{feed: w.feed, watch: w, watcher: watcher}
	p.timer = w.feed.store.options.Clock.NewTimer(idleInterval)
	if p.isWanted() {
		p.wanted()
	}
	return p
}

func (p *progressRequester) isWanted() bool { return p.watch.unproven || p.feed.hasWaiting() }

// wanted schedules a request because a reader waits for a revision.
func (p *progressRequester) wanted() {
	if p.interval != 0 {
		return
	}
	p.timer.Stop()
	select {
	case <-p.timer.C():
	default:
	}
	p.interval = firstRequest
	p.timer.Reset(firstRequest)
}

// request sends a request if one is still wanted, or if there was none for idleInterval.
func (p *progressRequester) request(ctx context.Context) {
	waiting := p.isWanted()
	if p.feed.noProgress || !waiting && p.interval != 0 {
		p.interval = 0
		p.timer.Reset(idleInterval)
		return
	}
	now := p.feed.store.options.Clock.Now()
	if p.unanswered.IsZero() {
		p.unanswered = now
	} else if waiting && now.Sub(p.unanswered) > silentAfter && !p.feed.silent.Swap(true) {
		klog.FromContext(ctx).V(1).Info("etcd does not answer progress requests, consistent reads go to etcd")
	}
	if err := p.watcher.RequestProgress(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Progress request failed", "err", err)
	}
	if !waiting {
		p.timer.Reset(idleInterval)
		return
	}
	p.interval = min(max(firstRequest, 2*p.interval), maxInterval)
	p.timer.Reset(p.interval)
}

// answered: etcd has reported the progress of the watch.
func (p *progressRequester) answered() {
	p.unanswered = time.Time{}
	if !p.feed.noProgress {
		p.feed.silent.Store(false)
	}
	p.interval = min(p.interval, firstRequest) // the next reader starts over
}

// checkVersion determines whether etcd may be sent progress requests. Older versions could report progress past
// events that they had not sent yet; with those, consistent reads go to etcd. An etcd in the same process has no
// endpoints, and is new enough.
//
// See docs/upstream.md, "Progress reports before their events".
func (f *feed) checkVersion(ctx context.Context) error {
	for _, endpoint := range f.store.client.Endpoints() {
		text, err := f.versionOf(ctx, endpoint)
		if err != nil {
			continue // the feed will not watch an endpoint that is down
		}
		supported, err := supportsProgress(text)
		if err != nil {
			return err
		}
		if !supported {
			klog.FromContext(ctx).Info("etcd is too old for progress requests, consistent reads go to etcd",
				"endpoint", endpoint, "version", text)
			f.noProgress = true
			f.silent.Store(true)
			return nil
		}
	}
	return nil
}

// versionOf returns the version of a member. It waits no longer than Options.AskFor, because a member may be down.
func (f *feed) versionOf(ctx context.Context, endpoint string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.store.options.AskFor)
	defer cancel()
	status, err := f.store.client.Status(ctx, endpoint)
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", endpoint, err)
	}
	return status.Version, nil
}

// supportsProgress reports whether an etcd of a version reports the progress of watches correctly.
func supportsProgress(text string) (bool, error) {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return false, fmt.Errorf("version of etcd %q: %w", text, err)
	}
	return v.AtLeast(version.MustParseGeneric("3.5.13")) ||
		v.AtLeast(version.MustParseGeneric("3.4.31")) && v.LessThan(version.MustParseGeneric("3.5.0")), nil
}
