package process

import (
	"fmt"
	"os"
	"testing"
)

const env = "PROCESS_TEST_SERVER"

func TestMain(m *testing.M) {
	if Is(env) {
		if err := Answer(os.Stdin, os.Stdout, map[string]string{"here": "127.0.0.1:1", "there": "a b"}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestServer(t *testing.T) {
	s, err := Start(env)
	if err != nil {
		t.Fatal(err)
	}
	if s.Addrs["here"] != "127.0.0.1:1" || s.Addrs["there"] != "a b" {
		t.Errorf("addresses %q", s.Addrs)
	}
	before, err := s.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Memory(); err != nil || m < 1<<10 {
		t.Errorf("%d bytes of memory (%v)", m, err)
	}
	if m, err := s.Resident(); err != nil || before.Reads > 0 && m < 1<<20 {
		t.Errorf("%d bytes are resident (%v)", m, err)
	}
	after, err := s.Usage()
	used := after.Minus(before)
	if err != nil || used.CPU < 0 || used.Mallocs <= 0 || after.Reads > 0 && (used.Reads < 2 || used.Writes < 2) {
		t.Errorf("used %+v (%v)", used, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Usage(); err == nil {
		t.Error("a process that has ended answers")
	}
}

// sink keeps allocations from being optimized away.
var sink []*int

func TestOwn(t *testing.T) {
	before := Own()
	for range 1000 {
		sink = append(sink, new(int))
	}
	if got := Own().Minus(before); got.Mallocs < 1000 || got.Mallocs > 2000 {
		t.Errorf("%d objects made, want about 1000", got.Mallocs)
	}
	one, two := Usage{1, 2, 3, 4, 5}, Usage{10, 20, 30, 40, 50}
	if got := one.Plus(two).Minus(one); got != two {
		t.Errorf("got %+v, want %+v", got, two)
	}
	if n := field([]byte("rchar: 1\nsyscr: 23\nsyscw: 4\n"), "syscr: "); n != 23 {
		t.Errorf("%d, want 23", n)
	}
}
