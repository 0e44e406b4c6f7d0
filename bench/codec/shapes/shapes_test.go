package shapes

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/bench/codec/sample"
	"github.com/rpcrdma/rpcrdma/bench/internal/measure"
)

func wires(t testing.TB) map[string][]byte {
	w := make(map[string][]byte)
	for name, v := range map[string]interface {
		Append([]byte) ([]byte, error)
	}{"a": sample.A(), "b": sample.B(), "d": sample.D()} {
		b, err := v.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		w[name] = b
	}
	return w
}

// Every shape works on the whole message, and every encoder makes hand's bytes.
func TestShapes(t *testing.T) {
	w := wires(t)
	for _, s := range All() {
		t.Run(s.Message+"/"+s.Op+"/"+s.Name, func(t *testing.T) {
			want := w[s.Message]
			b := bytes.Clone(want)
			if s.Op == "encode" {
				clear(b)
			}
			for range 2 { // the second time into used values
				if n, err := s.Run(b); n != len(want) || err != nil {
					t.Fatalf("%d, %v, want %d", n, err, len(want))
				}
			}
			if !bytes.Equal(b, want) {
				t.Error("other bytes than hand")
			}
		})
	}
}

func BenchmarkShapes(b *testing.B) {
	w := wires(b)
	for _, s := range All() {
		wire := w[s.Message]
		b.Run(fmt.Sprintf("%s/%s/%s", s.Message, s.Op, s.Name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Run(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestTable prints the shapes against each other, interleaved, with -v.
func TestTable(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints a table with -v")
	}
	w := wires(t)
	var cases []measure.Case
	all := All()
	for _, s := range all {
		wire := bytes.Clone(w[s.Message])
		cases = append(cases, measure.Case{Name: s.Name, Run: measure.Loop(func(n int) error {
			for range n {
				if _, err := s.Run(wire); err != nil {
					return err
				}
			}
			return nil
		})})
	}
	results, err := measure.Interleaved(cases, 61, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	base, low := 0.0, 0.0
	for i, r := range results {
		if i == 0 || all[i].Message != all[i-1].Message || all[i].Op != all[i-1].Op {
			base, low = r.NS, r.Low
		}
		t.Logf("%s %-6s %-52s %8.1f ns %5.2f, fastest rounds %5.2f, %3.0f allocs",
			all[i].Message, all[i].Op, r.Name, r.NS, r.NS/base, r.Low/low, r.Allocs)
	}
}
