package process

import (
	"errors"
	"testing"
	"time"
)

func TestEach(t *testing.T) {
	s, err := Start(env)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var kept [][]byte
	own, other, err := s.Each(16, func() error {
		n := 64 << 10
		if len(kept) == 0 {
			n = 16 << 20 // the first one does not count
		}
		kept = append(kept, make([]byte, n))
		return nil
	})
	if err != nil || len(kept) != 17 || own < 60<<10 || own > 80<<10 || other < -16<<10 || other > 16<<10 {
		t.Errorf("%d made keep %d bytes each, %d there, %v; want about 64 KiB, and nothing", len(kept), own, other, err)
	}
	failed := errors.New("failed")
	if _, _, err := s.Each(2, func() error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
}

func TestWatch(t *testing.T) {
	took, used, err := Watch(nil, func(n int) (time.Duration, error) {
		for range n {
			sink = append(sink, new(int))
		}
		return time.Second, nil
	}, 1000)
	if err != nil || took != time.Second || used.Mallocs < 1000 || used.Mallocs > 2000 {
		t.Errorf("%v, %+v, %v", took, used, err)
	}
}
