package rdmatcp

import "testing"

// A message is split evenly into as few segments as possible. Only the last one may need padding.
func TestPerSegment(t *testing.T) {
	const most = 65492
	for _, tc := range []struct{ total, per, segments int }{
		{0, 0, 1},
		{1, 1, 1},
		{most, most, 1},
		{most + 1, 32768, 2},
		{64 << 10, 32768, 2},
		{2 * most, most, 2},
		{2*most + 1, 43712, 3},
		{1 << 20, 61696, 17},
	} {
		per := perSegment(tc.total, most)
		segments := 1
		if per > 0 {
			segments = (tc.total + per - 1) / per
		}
		if per != tc.per || segments != tc.segments || segments > 1 && per%4 != 0 {
			t.Errorf("%d bytes: %d segments of %d, want %d of %d", tc.total, segments, per, tc.segments, tc.per)
		}
	}
}
