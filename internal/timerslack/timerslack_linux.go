package timerslack

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// decided is a slack that nobody has who did not ask for it.
const decided = time.Millisecond

// before is the environment variable that says to a program that it was started anew, and what the slack was before, in nanoseconds.
const before = "CRD_SERVER_TIMER_SLACK"

// Packages are initialised on the first thread of the process, which is the one that starts sysmon.
func init() {
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if value, anew := os.LookupEnv(before); anew {
		_ = os.Unsetenv(before)
		if usual, bad := strconv.Atoi(value); bad == nil && slack == int(monitorSlack) { // else it was not us who set it
			restore(usual)
		}
		return
	}
	if err != nil || slack >= int(decided) {
		return
	}
	// The program works as well without: what cannot be done, where there is no /proc for example, is let be.
	program, err := os.Executable() // and not /proc/self/exe, which would be what the process is called from then on
	if err != nil || set(int(monitorSlack)) != nil {
		return
	}
	_ = unix.Exec(program, os.Args, append(os.Environ(), before+"="+strconv.Itoa(slack))) // returns if it fails
	_ = set(slack)
}

// set changes the slack of the calling thread, in nanoseconds.
func set(slack int) error {
	return unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
}

// restore changes the slack of all threads that run goroutines: of this one, and of those that the runtime has started besides the
// monitor. Threads that come later inherit it. (In a program with cgo the runtime may start one or two by a thread that is out of reach.)
func restore(slack int) {
	_ = set(slack)
	// A thread that looks for work sleeps for some microseconds first, and so much longer as it has slack: until then it would not be found.
	// The runtime must not know of this sleep, or it would have threads look for work again.
	sleep := unix.NsecToTimespec(2 * int64(monitorSlack))
	_ = unix.Nanosleep(&sleep, nil)
	// The first call starts the thread by which others are started where one is held: let it inherit from this one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Each thread that runs a goroutine wakes or starts one for the next goroutine before it comes to change its own slack. Hence there is one
	// that inherits what was to be changed; it is among those of the second round.
	for range 2 {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return
		}
		holdThreads(len(threads), func() { _ = set(slack) })
	}
}

// holdThreads calls do on so many threads, by having as many goroutines hold one each at the same time. Those there are come first.
func holdThreads(threads int, do func()) {
	var holding, done sync.WaitGroup
	holding.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			do()
			holding.Done()
			holding.Wait()
		})
	}
	done.Wait()
}
