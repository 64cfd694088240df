package server

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
)

// frame is a frame of HTTP/2 as it is written.
func frame(write func(*http2.Framer) error) string {
	var written bytes.Buffer
	_ = write(http2.NewFramer(&written, nil)) // into memory
	return written.String()
}

func data(stream uint32, content string) string {
	return frame(func(f *http2.Framer) error { return f.WriteData(stream, false, []byte(content)) })
}

func ping(ack bool, content string) string {
	return frame(func(f *http2.Framer) error { return f.WritePing(ack, [8]byte([]byte(content))) })
}

// TestLatePongs holds that answers to pings wait, that others overtake them, and that frames stay whole.
func TestLatePongs(t *testing.T) {
	var (
		some  = data(1, "some data")
		asks  = ping(false, "12345678")
		one   = ping(true, "11111111")
		other = ping(true, "22222222")
		// looks like a frame with an answer in it: what follows the first byte of its data is one.
		nested = data(1, "x"+one)
	)
	for name, tc := range map[string]struct {
		writes      []string // after the preface; "" lets the delay pass
		first, then []string
	}{
		"others":              {[]string{some, asks}, []string{some, asks}, nil},
		"alone":               {[]string{one}, nil, []string{one}},
		"overtaken":           {[]string{one, some}, []string{some}, []string{one}},
		"two":                 {[]string{one, some, other}, []string{some}, []string{one + other}},
		"one after the other": {[]string{one, "", other}, []string{one}, []string{other}},
		"with others":         {[]string{one + some, some + one}, []string{one + some, some + one}, nil},
		"the end of a frame":  {[]string{nested[:10], nested[10:]}, []string{nested[:10], nested[10:]}, nil},
		"in a frame":          {[]string{one, some[:12], "", some[12:]}, []string{some[:12], some[12:], one}, nil},
		"in a header":         {[]string{one, some[:3], "", some[3:5], some[5:]}, []string{some[:3], some[3:5], some[5:], one}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				under := &recordedConn{}
				c := newLatePongConn(under)
				for _, text := range append([]string{http2.ClientPreface}, tc.writes...) {
					if text == "" {
						passDelay()
						continue
					}
					say(t, c, text)
				}
				if got := under.seen()[1:]; !slices.Equal(got, tc.first) {
					t.Errorf("written %q, want %q", got, tc.first)
				}
				passDelay()
				if got, want := under.seen()[1:], slices.Concat(tc.first, tc.then); !slices.Equal(got, want) {
					t.Errorf("written after the delay %q, want %q", got, want)
				}
			})
		})
	}
}

func passDelay() {
	time.Sleep(pongDelay)
	synctest.Wait()
}

// TestLatePongFails holds that who writes next is told that an answer could not be sent.
func TestLatePongFails(t *testing.T) {
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) {
		under := &recordedConn{}
		c := newLatePongConn(under)
		say(t, c, http2.ClientPreface)
		say(t, c, ping(true, "12345678"))
		under.mu.Lock()
		under.err = broken
		under.mu.Unlock()
		passDelay()
		if n, err := c.Write([]byte("x")); !errors.Is(err, broken) || n != 0 {
			t.Errorf("%d bytes, error %v", n, err)
		}
	})
}

// FuzzLatePongs writes frames in pieces. What arrives are the same frames, of which only answers to pings may be later.
func FuzzLatePongs(f *testing.F) {
	f.Add([]byte{0, 17, 0, 1, 40, 3, 0, 17}, []byte{3, 200, 17, 0})
	f.Fuzz(func(t *testing.T, kinds, pieces []byte) {
		var frames []string
		for i, kind := range kinds {
			if kind%3 == 0 {
				frames = append(frames, ping(true, strings.Repeat(string(rune('a'+i%26)), 8)))
				continue
			}
			frames = append(frames, data(1, strings.Repeat(ping(true, "12345678"), int(kind)%5)+string(kinds[:i])))
		}
		synctest.Test(t, func(t *testing.T) {
			under := &recordedConn{}
			c := newLatePongConn(under)
			say(t, c, http2.ClientPreface)
			for rest, i := strings.Join(frames, ""), 0; rest != ""; i++ {
				n := pongLength // mostly what an answer has
				if len(pieces) > 0 {
					n = int(pieces[i%len(pieces)])
				}
				if n == 0 {
					passDelay()
					n = pongLength
				}
				n = min(n, len(rest))
				say(t, c, rest[:n])
				rest = rest[n:]
			}
			passDelay()
			written := strings.TrimPrefix(strings.Join(under.seen(), ""), http2.ClientPreface)
			wantPongs, wantOthers := partition(frames)
			gotPongs, gotOthers := partition(split(t, written))
			slices.Sort(gotPongs) // those that come with something else do not wait
			if slices.Sort(wantPongs); !slices.Equal(gotPongs, wantPongs) {
				t.Errorf("answers %q, want %q", gotPongs, wantPongs)
			}
			if !slices.Equal(gotOthers, wantOthers) {
				t.Errorf("other frames %q, want %q", gotOthers, wantOthers)
			}
		})
	})
}

// split returns the frames in what was written.
func split(t *testing.T, written string) (frames []string) {
	t.Helper()
	for written != "" {
		header, err := http2.ReadFrameHeader(strings.NewReader(written))
		if err != nil || len(written) < frameHeader+int(header.Length) {
			t.Fatalf("no frame: %q, %v", written, err)
		}
		n := frameHeader + int(header.Length)
		frames, written = append(frames, written[:n]), written[n:]
	}
	return frames
}

func partition(frames []string) (pongs, others []string) {
	for _, f := range frames {
		if len(f) == pongLength && strings.HasPrefix(f, string(pongStart)) {
			pongs = append(pongs, f)
		} else {
			others = append(others, f)
		}
	}
	return pongs, others
}

// TestEtcdIsAnsweredLate puts values, small ones and such as need several writes, and counts what etcd is sent: it does ask, but seldom.
func TestEtcdIsAnsweredLate(t *testing.T) {
	counted := &countedPongs{}
	options := &EtcdOptions{Servers: []string{externalEtcd(t, nil, nil, "")}}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   options.Servers,
		DialOptions: append(options.dialOptions(nil), grpc.WithContextDialer(counted.dial)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const puts = 300
	began := time.Now()
	for i := range puts {
		value := strings.Repeat("x", 1+i%7*20_000)
		if _, err := client.Put(t.Context(), "key", value); err != nil {
			t.Fatal(err)
		}
		if got, err := client.Get(t.Context(), "key"); err != nil || string(got.Kvs[0].Value) != value {
			t.Fatalf("%d: got %v", i, err)
		}
	}
	counted.mu.Lock()
	defer counted.mu.Unlock()
	// Some come with something else, and do not wait.
	if most := puts/5 + int(time.Since(began)/pongDelay); counted.pongs == 0 || counted.pongs > most {
		t.Errorf("%d answers to pings in %d requests, want 1 to %d", counted.pongs, 2*puts, most)
	}
}

// countedPongs counts answers to pings.
type countedPongs struct {
	mu    sync.Mutex // guards pongs
	pongs int
}

func (c *countedPongs) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return countedConn{conn, c}, err
}

// countedConn is one of the connections they go through.
type countedConn struct {
	net.Conn
	counted *countedPongs
}

func (c countedConn) Write(p []byte) (int, error) {
	c.counted.mu.Lock()
	c.counted.pongs += bytes.Count(p, pongStart)
	c.counted.mu.Unlock()
	return c.Conn.Write(p)
}
