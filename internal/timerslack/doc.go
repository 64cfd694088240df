// Package timerslack has the thread with which Go's runtime watches over the others wake less often, where the kernel allows it (Linux).
//
// While anything runs that thread, sysmon, sleeps for 20 µs at a time, and each sleep ends 50 µs later, the kernel's usual timer
// slack (prctl(2), PR_SET_TIMERSLACK). A server that is asked now and then, but not enough to be busy all the time, pays a fifth of its
// processor time and more for that: the runtime cannot be told to do it less often (https://go.dev/issue/18236). What it watches
// for here, requests that do not let go of a processor and system calls that block, is as well found some milliseconds later.
//
// Timer slack belongs to a thread, is inherited by those it starts, and survives exec(2). Only a thread itself may change it without
// privileges, and the runtime has started sysmon before the first line of a program runs. Hence importing this package starts the program anew,
// once, in the same process, with more slack; what runs goroutines takes the usual one again. That takes some milliseconds, and nobody sees it but
// in a trace of system calls. Who starts the program with a slack of a millisecond or more (TimerSlackNSec= of systemd), or with
// CRD_SERVER_TIMER_SLACK in its environment, has decided about it: nothing is done then.
//
// It is for programs, not for libraries: only package main may import it. Begin at timerslack_linux.go.
package timerslack
