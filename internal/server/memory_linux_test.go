package server

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestUnchangedMappings(t *testing.T) {
	const smaps = `00400000-0155a000 r-xp 00000000 00:1c 36     /bin/crd server
Rss:               16000 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
0155a000-0200b000 r--p 0115a000 00:1c 36     /bin/crd server
Anonymous:             4 kB
0200b000-0210b000 r--p 01c0b000 00:1c 36     /bin/crd server
Anonymous:             0 kB
0210b000-0211b000 rw-p 01d0b000 00:1c 36     /bin/crd server
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 00:1c 99 /usr/lib/libc.so.6
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	got, err := unchangedMappings(strings.NewReader(strings.ReplaceAll(smaps, "crd server", "crd-server")), "/bin/crd-server")
	want := []mapping{{0x400000, 0x155a000}, {0x200b000, 0x210b000}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, %v", got, err)
	}
	if _, err := unchangedMappings(strings.NewReader("what r-xp is this\n"), ""); err == nil {
		t.Error("no error")
	}
}

// TestReleaseProgram: the program goes on, and finds its own text among what it gives back.
func TestReleaseProgram(t *testing.T) {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer smaps.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if found, err := unchangedMappings(smaps, program); err != nil || len(found) == 0 {
		t.Errorf("found %x, %v", found, err)
	}
	if err := releaseProgram(); err != nil {
		t.Error(err)
	}
}
