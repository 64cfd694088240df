package dynamicstorage

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Pauses before progress requests. Events that bring the wanted revision are mostly on their way already,
// so the first request waits for them a little. Without anybody waiting, progress is still asked for now and then, so that
// bookmarks of quiet resources move on.
const (
	firstAsk = time.Millisecond
	lastAsk  = 100 * time.Millisecond
	idleAsk  = 20 * time.Second
	// muteAfter is how long etcd may leave requests unanswered before reads do not wait for it any more.
	muteAfter = time.Second
)

// progress asks etcd how far the feed's watch is, as long as somebody wants to know. It belongs to the feed's goroutine.
type progress struct {
	feed  *feed
	timer clock.Timer
	pause time.Duration // before the next request; 0 while nobody waits
	// since is when the first request was sent that has had no answer; zero if there is none.
	since time.Time
}

func newProgress(f *feed) *progress {
	p := &progress{feed: f, timer: f.store.options.Clock.NewTimer(idleAsk)}
	if f.waited() {
		p.wanted()
	}
	return p
}

func (p *progress) stop() { p.timer.Stop() }

// wanted: somebody waits for a revision.
func (p *progress) wanted() {
	if p.pause == 0 {
		p.schedule(firstAsk)
	}
}

func (p *progress) schedule(pause time.Duration) {
	p.pause = pause
	p.timer.Stop()
	select {
	case <-p.timer.C():
	default:
	}
	p.timer.Reset(pause)
}

// ask sends a request if somebody still waits, or nobody has asked for long.
func (p *progress) ask(ctx context.Context) {
	waited := p.feed.waited()
	if p.feed.unsupported {
		p.pause = 0
		p.timer.Reset(idleAsk)
		return
	}
	if !waited && p.pause != 0 {
		p.pause = 0
		p.timer.Reset(idleAsk)
		return
	}
	now := p.feed.store.options.Clock.Now()
	if p.since.IsZero() {
		p.since = now
	} else if waited && now.Sub(p.since) > muteAfter && !p.feed.muted.Swap(true) {
		klog.FromContext(ctx).V(1).Info("etcd does not answer progress requests, consistent reads go to etcd")
	}
	if err := p.feed.store.client.RequestProgress(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Progress could not be asked for", "err", err)
	}
	if waited {
		p.pause = min(max(firstAsk, 2*p.pause), lastAsk)
		p.timer.Reset(p.pause)
	} else {
		p.timer.Reset(idleAsk)
	}
}

// answered: etcd has told how far the watch is.
func (p *progress) answered() {
	p.since = time.Time{}
	if !p.feed.unsupported {
		p.feed.muted.Store(false)
	}
	if p.pause > firstAsk { // the next to wait does not suffer from how long this took
		p.pause = firstAsk
	}
}
