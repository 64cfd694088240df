package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// gunzip returns the text of the gzip member that write makes.
func gunzip(t testing.TB, write func(*Gzip) error) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	if err := WriteGzip(w, http.StatusOK, JSON, write); err != nil {
		t.Fatal(err)
	}
	return unzipped(t, w.Body.Bytes())
}

// unzipped checks that compressed is exactly one gzip member with the right checksum and length, and returns its text.
func unzipped(t testing.TB, compressed []byte) []byte {
	t.Helper()
	in := bytes.NewReader(compressed)
	r, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if in.Len() > 0 {
		t.Fatalf("%d bytes follow the member", in.Len())
	}
	return text
}

func TestChecksumsJoin(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := make([]byte, random.IntN(1<<uint(random.IntN(18))))
		for n := range text {
			text[n] = byte(random.Uint32())
		}
		sum := emptyChecksum
		for rest := text; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			sum = sum.join(sumOf(rest[:n]))
			rest = rest[n:]
		}
		if want := crc32.ChecksumIEEE(text); sum.crc != want || sum.length != uint32(len(text)) ||
			sum.power != powerOf(len(text)) {
			t.Fatalf("%d bytes: %08x of %d, want %08x", len(text), sum.crc, sum.length, want)
		}
		if sum.join(emptyChecksum) != sum || emptyChecksum.join(sum) != sum {
			t.Fatal("no text changes the sum")
		}
	}
}

// TestLengthsWrap checks that gzip's length is modulo 2^32.
func TestLengthsWrap(t *testing.T) {
	t.Parallel()
	sum := checksum{crc: 1, length: 1 << 31, power: powerOf(1 << 31)}
	if joined := sum.join(sum); joined.length != 0 || joined.power != powerOf(1<<32) {
		t.Errorf("got %+v", joined)
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("much text ", 100_000)
	for name, texts := range map[string][]string{
		"nothing":               {},
		"empty texts":           {"", ""},
		"short":                 {"a"},
		"short ones":            {"a", "b", "c"},
		"short, long and short": {"a", long, "b"},
		"at the limits":         {long[:storedText], long[:storedText+1], long[:deflatedText], long[:deflatedText+1]},
	} {
		t.Run(name, func(t *testing.T) {
			for _, before := range []bool{false, true} { // compressed in advance, or when they are written
				got := gunzip(t, func(w *Gzip) error {
					for _, text := range texts {
						if before {
							if err := w.WriteDeflated(Deflate([]byte(text))); err != nil {
								return err
							}
						} else if n, err := w.Write([]byte(text)); err != nil || n != len(text) {
							return fmt.Errorf("%d bytes of %d written: %w", n, len(text), err)
						}
					}
					return nil
				})
				if string(got) != strings.Join(texts, "") {
					t.Errorf("compressed before %t: %d bytes arrived", before, len(got))
				}
			}
		})
	}
}

func TestGzipReportsErrors(t *testing.T) {
	t.Parallel()
	body := newGzip(failingWriter{})
	defer body.release()
	random := make([]byte, 1<<20)
	for n := range random {
		random[n] = byte(rand.Uint32())
	}
	if _, err := body.Write(random); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	if err := body.end(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("at the end: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzGzip cuts text into pieces as the second argument says, and joins them in three ways.
func FuzzGzip(f *testing.F) {
	f.Add([]byte("some text, some more text"), []byte{3, 0, 200})
	f.Add(bytes.Repeat([]byte("0123456789"), 1000), []byte{255, 128, 1, 90})
	f.Fuzz(func(t *testing.T, text, cuts []byte) {
		got := gunzip(t, func(w *Gzip) error {
			rest := text
			for _, c := range cuts {
				n := min(int(c)*4, len(rest))
				piece := rest[:n]
				rest = rest[n:]
				if c%2 == 0 {
					if err := w.WriteDeflated(Deflate(piece)); err != nil {
						return err
					}
				} else if _, err := w.Write(piece); err != nil {
					return err
				}
			}
			_, err := w.Write(rest)
			return err
		})
		if !bytes.Equal(got, text) {
			t.Errorf("got %q, want %q", got, text)
		}
	})
}

func BenchmarkDeflate(b *testing.B) {
	text := bytes.Repeat([]byte(`{"image":"registry.example.com/team/part:1.1","name":"part","port":8080,`+
		`"protocol":"TCP"},`), 800)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Deflate(text)
	}
}

func BenchmarkWriteDeflated(b *testing.B) {
	run := Deflate(bytes.Repeat([]byte(`{"image":"registry.example.com/team/part:1.1","name":"part"},`), 1000))
	body := newGzip(io.Discard)
	defer body.release()
	b.ReportAllocs()
	for b.Loop() {
		if err := body.WriteDeflated(run); err != nil {
			b.Fatal(err)
		}
	}
}
