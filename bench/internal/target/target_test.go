package target

import "testing"

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		target Target
		want   string
	}{
		{AtMost("us", 2, 2), "us 2.00 (<= 2: met)"},
		{AtMost("us", 2.5, 2), "us 2.50 (<= 2: near)"},
		{AtMost("us", 2.6, 2), "us 2.60 (<= 2: missed)"},
		{AtLeast("of tcp", 0.45, 0.45), "of tcp 0.45 (>= 0.45: met)"},
		{AtLeast("of tcp", 0.36, 0.45), "of tcp 0.36 (>= 0.45: near)"},
		{AtLeast("of tcp", 0.35, 0.45), "of tcp 0.35 (>= 0.45: missed)"},
		{AtMost("copies", 0, 0), "copies 0.00 (<= 0: met)"},
	} {
		if got := c.target.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
