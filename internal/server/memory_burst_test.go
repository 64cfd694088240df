package server

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBurst holds that the heap may grow by what was announced, up to a bound and until there was a pause.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBurst(0)
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

// TestBurstThatIsWaitedFor holds that the heap may grow by more for it, in steps that become longer, as far as there is memory.
func TestBurstThatIsWaitedFor(t *testing.T) {
	for memory, most := range map[uint64]uint64{
		0:         mostAllowance,
		256 << 20: mostAllowance, // and half of a step
		4 << 30:   8 * mostAllowance,
		24 << 30:  mostWaited, // and mostAllowance, which together are no step
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBurst(memory)
			changes, last := 0, uint64(0)
			for range 1000 {
				b.announceWaited(garbageUsed)
				if now := b.allowance(); now != last {
					changes, last = changes+1, now
				}
			}
			if last != most || changes > 7 {
				t.Errorf("memory %d: allowance %d after %d changes, want %d", memory, last, changes, most)
			}
			time.Sleep(burstPause)
			synctest.Wait()
			if now := b.allowance(); now != 0 {
				t.Errorf("memory %d: allowance %d afterwards", memory, now)
			}
		})
	}
}
