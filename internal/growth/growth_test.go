package growth

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/cputime"
)

// sink keeps the memory that the work under test allocates.
var sink []byte

// TestLinear accepts work that grows with its input, and refuses work that grows with its
// square in each of the three costs: the canaries of every test that uses Linear.
func TestLinear(t *testing.T) {
	spin := func(rounds int) (sum int) {
		for i := range rounds {
			sum = sum*31 + i
		}
		return sum & 1
	}
	for _, c := range []struct {
		name string
		n    int
		run  func(n int) int
		grow string // the cost that is refused
	}{
		{"linear time", 1 << 23, func(n int) int { return spin(4 * n) }, ""},
		{"linear memory", 1 << 20, func(n int) int { sink = make([]byte, 4*n); return 0 }, ""},
		{"linear output", 1 << 20, func(n int) int { return n }, ""},
		{"no cost", 1, func(n int) int { return 0 }, ""},
		{"small", 4, func(n int) int { return n * n }, ""},
		{"quadratic time", 6000, func(n int) int { return spin(n * n) }, "processor time"},
		{"quadratic memory", 1 << 10, func(n int) int { sink = make([]byte, n*n); return 0 }, "allocated memory"},
		{"quadratic output", 1 << 10, func(n int) int { return n * n }, "output"},
		{"exponential output", 6, func(n int) int { return 1 << n }, "output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.grow == "processor time" && cputime.Used() == 0 {
				t.Skip("the processor time of a process is not known on this system")
			}
			costs, err := Linear(c.n, func(n int) func() int { return func() int { return c.run(n) } })
			switch {
			case c.grow == "" && err != nil:
				t.Error(err)
			case c.grow != "" && (err == nil || !strings.HasPrefix(err.Error(), c.grow+" grows")):
				t.Errorf("error %v, expected %s to grow too fast\n%v", err, c.grow, costs)
			}
		})
	}
}

// TestLinearPrepares checks that preparing the input is not measured.
func TestLinearPrepares(t *testing.T) {
	_, err := Linear(1<<10, func(n int) func() int {
		sink = make([]byte, n*n)
		return func() int { return 0 }
	})
	if err != nil {
		t.Error(err)
	}
}

// Within notices one large object, and no small ones of earlier work.
func TestWithinNoticesOneLargeObject(t *testing.T) {
	var kept []byte
	if err := Within(64<<10, func() { kept = make([]byte, 1<<20) }); err == nil || len(kept) == 0 {
		t.Error("1 MiB is within 64 KiB")
	}
	for range 10_000 {
		kept = append([]byte(nil), make([]byte, 100)...)
	}
	runs := 0
	if err := Within(64<<10, func() { runs++; kept = make([]byte, 1000) }); err != nil {
		t.Error(err)
	}
	if runs < 1 || runs > 5 {
		t.Errorf("%d runs", runs)
	}
}
