package ibverbs

import "testing"

// A driver that refuses a post may leave the address of the refused request as it was.
func TestUnpostedOfADriverThatNamesNoRequest(t *testing.T) {
	const base, size = 0x1000, 128
	for bad, want := range map[uintptr]uint64{
		base: 0, base + size: 1, base + 3*size: 3,
		0: 0, base - size: 0, base + 4*size: 0, ^uintptr(0): 0,
	} {
		if got := unposted(bad, base, size, 4); got != want {
			t.Errorf("%#x: %d requests were posted, want %d", bad, got, want)
		}
	}
}
