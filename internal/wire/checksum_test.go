package wire

import (
	"bytes"
	"testing"
)

func TestJoinedChecksums(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789abcdef"), 70000)
	want := sumOf(text)
	for _, at := range []int{0, 1, 2, 3, 255, 256, 65535, 65536, 1 << 20, len(text) - 1, len(text)} {
		if got := sumOf(text[:at]).join(sumOf(text[at:])); got != want {
			t.Errorf("at %d: %x, want %x", at, got, want)
		}
	}
}
