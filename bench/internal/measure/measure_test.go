package measure

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{1, 2, 9}, 2}, {[]float64{1, 2, 4, 9}, 3}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

// fake is a case with a clock of its own: each repetition takes the next time.
func fake(name string, ns ...time.Duration) Case {
	round := -1
	return Case{Name: name, Run: func(n int) (time.Duration, error) {
		if n != 1000 { // calibrating, or counting allocations
			return time.Duration(n), nil
		}
		round++
		return time.Duration(n) * ns[round%len(ns)], nil
	}}
}

func TestInterleaved(t *testing.T) {
	// 1 ns a repetition while calibrating, so that 1000 fill a slice of 1 us.
	results, err := Interleaved([]Case{fake("x", 5, 1, 9), fake("y", 2, 2, 2)}, 3, time.Microsecond)
	if err != nil {
		t.Fatal(err)
	}
	x, y := results[0], results[1]
	if x.NS != 5 || x.Low != 1 || x.High != 9 || y.NS != 2 || x.Name != "x" {
		t.Errorf("got %+v and %+v", x, y)
	}
}

func TestInterleavedError(t *testing.T) {
	want := errors.New("boom")
	_, err := Interleaved([]Case{{"bad", func(int) (time.Duration, error) { return 0, want }}}, 3, time.Microsecond)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("error %v, want %v with the case's name", err, want)
	}
}

// A case that is held up once while it is calibrated is not measured with too few
// repetitions for it.
func TestCalibrateHiccup(t *testing.T) {
	held := false
	n, err := calibrate(Case{"x", func(n int) (time.Duration, error) {
		if n == 4 && !held {
			held = true
			return time.Second, nil
		}
		return time.Duration(n), nil
	}}, time.Microsecond)
	if err != nil || !held || n != 1000 {
		t.Errorf("%d repetitions (%v), want 1000", n, err)
	}
}
