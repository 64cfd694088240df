package server

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recordedConn is a connection that remembers what was written to it.
type recordedConn struct {
	net.Conn
	mu      sync.Mutex // guards all below
	written []string
	err     error
}

func (c *recordedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.written = append(c.written, string(p))
	return len(p), nil
}

func (c *recordedConn) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.written)
}

// TestJoiningConn holds that what is followed waits for what follows it, for a moment, and that the order stays.
func TestJoiningConn(t *testing.T) {
	large := strings.Repeat("x", mostHeld+1)
	for name, tc := range map[string]struct {
		use         func(c *joiningConn)
		first, then []string
	}{
		"nothing said":        {func(c *joiningConn) { say(t, c, "a"); say(t, c, "b") }, []string{"a", "b"}, nil},
		"followed":            {func(c *joiningConn) { c.Followed(); say(t, c, "a"); say(t, c, "b"); say(t, c, "c") }, []string{"a", "b", "c"}, nil},
		"followed by nothing": {func(c *joiningConn) { c.Followed(); say(t, c, "a") }, nil, []string{"a"}},
		"followed late": {func(c *joiningConn) {
			c.Followed()
			say(t, c, "a")
			time.Sleep(3 * heldFor)
			say(t, c, "b")
		}, []string{"a", "b"}, nil},
		"too large":     {func(c *joiningConn) { c.Followed(); say(t, c, large) }, []string{large}, nil},
		"twice":         {func(c *joiningConn) { c.Followed(); say(t, c, "a"); c.Followed(); say(t, c, "b") }, []string{"a", "b"}, nil},
		"again":         {func(c *joiningConn) { c.Followed(); say(t, c, "a"); say(t, c, "b"); c.Followed(); say(t, c, "c") }, []string{"a", "b"}, []string{"c"}},
		"nothing comes": {func(c *joiningConn) { c.Followed() }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				under := &recordedConn{}
				c := &joiningConn{Conn: under}
				tc.use(c)
				if got := under.seen(); !slices.Equal(got, tc.first) {
					t.Errorf("written %q, want %q", got, tc.first)
				}
				time.Sleep(3 * heldFor)
				synctest.Wait()
				if got, want := under.seen(), slices.Concat(tc.first, tc.then); !slices.Equal(got, want) {
					t.Errorf("written after a while %q, want %q", got, want)
				}
			})
		})
	}
}

// TestJoiningConnFails holds that an error of what was held is told with the next write.
func TestJoiningConnFails(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		under := &recordedConn{err: broken}
		c := &joiningConn{Conn: under}
		c.Followed()
		say(t, c, "a")
		time.Sleep(3 * heldFor)
		synctest.Wait()
		if _, err := c.Write([]byte("b")); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		other := &joiningConn{Conn: under}
		other.Followed()
		say(t, other, "a")
		if n, err := other.Write([]byte("b")); !errors.Is(err, broken) || n != 0 {
			t.Errorf("%d bytes, error %v", n, err)
		}
	})
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); err != nil || n != len(text) {
		t.Errorf("write %q: %d, %v", text, n, err)
	}
}
