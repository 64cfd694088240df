package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBurst holds that the heap may grow by what was announced, up to a bound and until there was a pause.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst()
		expect := func(allowance uint64, poked bool) {
			t.Helper()
			if got := b.allowance(); got != allowance {
				t.Errorf("allowance %d, want %d", got, allowance)
			}
			select {
			case <-b.poked:
				if !poked {
					t.Error("the growth of the heap is looked at without need")
				}
			default:
				if poked {
					t.Error("nobody looks at the growth of the heap")
				}
			}
		}
		expect(0, false)
		b.announce(allowanceStep - 1) // too little to be worth anything
		expect(0, false)
		time.Sleep(burstPause - 1)
		b.announce(1)
		expect(allowanceStep, true)
		time.Sleep(burstPause - 1)
		expect(allowanceStep, false)
		b.announce(1)
		b.announce(1 << 40)
		expect(mostAllowance, true)
		b.announce(1 << 40)
		expect(mostAllowance, false)
		if b.takeLeft() {
			t.Error("a burst is taken for ended")
		}
		time.Sleep(burstPause)
		synctest.Wait()
		expect(0, true)
		if !b.takeLeft() || b.takeLeft() {
			t.Error("the end of a burst is not told, or not once")
		}
		b.announce(1)
		time.Sleep(burstPause)
		synctest.Wait()
		if b.takeLeft() {
			t.Error("little work is taken for a burst")
		}
	})
}
