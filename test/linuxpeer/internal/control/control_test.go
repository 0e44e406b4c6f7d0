package control

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	var b bytes.Buffer
	req := Request{Argv: []string{"sh", "-c", "echo \"$1\"", "a\nb"}, Env: []string{"A=1"}, Dir: "/tmp", TTY: true, Input: true}
	out := Output{Data: bytes.Repeat([]byte{0, '\n', 0xff}, MaxData/3), Err: true}
	for _, v := range []any{req, out, Input{Close: true}} {
		if err := Write(&b, v); err != nil {
			t.Fatal(err)
		}
	}
	stream := b.String()
	r := NewReader(&b)
	var gotReq Request
	var gotOut Output
	var gotIn Input
	for _, v := range []any{&gotReq, &gotOut, &gotIn} {
		if err := r.Read(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{cmp.Diff(req, gotReq), cmp.Diff(out, gotOut), cmp.Diff(Input{Close: true}, gotIn)} {
		if d != "" {
			t.Errorf("(-written +read):\n%s", d)
		}
	}
	if err := r.Read(&gotIn); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v, want EOF", err)
	}
	first := strings.IndexByte(stream, '\n')
	for n := 1; n <= first; n++ {
		if err := NewReader(strings.NewReader(stream[:n])).Read(&gotReq); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("a line cut after %d of %d bytes: %v", n, first+1, err)
		}
	}
}

func TestLimits(t *testing.T) {
	if err := Write(io.Discard, Request{Argv: []string{strings.Repeat("a", MaxLine)}}); err == nil {
		t.Error("Write sent a line above the limit")
	}
	endless := io.MultiReader(strings.NewReader(strings.Repeat("a", 2*MaxLine)))
	var out Output
	if err := NewReader(endless).Read(&out); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a line above the limit: %v", err)
	}
	if err := NewReader(strings.NewReader("{\"done\":3}\n")).Read(&out); err == nil {
		t.Error("a line of another type was read")
	}
}

// FuzzRead reads lines until one is refused. Data is never more than the line that had it.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"data\":\"AAECAw==\",\"err\":true}\n{\"done\":true,\"code\":3}\n"))
	f.Add([]byte("{}\n{\"data\":\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		total := 0
		for {
			var out Output
			if err := r.Read(&out); err != nil {
				break
			}
			total += len(out.Data) + len(out.Start)/3
		}
		if total > len(b) {
			t.Errorf("%d bytes of data from %d bytes", total, len(b))
		}
	})
}
