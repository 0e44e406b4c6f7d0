package sim

import (
	"fmt"
	"testing"
)

// versionsSeen counts what runs have used of version 2.
type versionsSeen map[string]int

func (v *versionsSeen) add(r *Result) {
	if *v == nil {
		*v = make(versionsSeen)
	}
	s := *v
	s[fmt.Sprintf("seeds with version %d", r.Version)]++
	for what, n := range map[string]bool{
		"seeds with version 1 at an end that has version 2": r.Mixed && r.Version == 1 && !r.FellBack,
		"seeds that fall back to version 1":                 r.FellBack,
		"seeds with ceilings of one credit":                 r.Ones,
		"seeds with a stranger":                             r.Stranger,
		"seeds with a stranger and ceilings of one credit":  r.Stranger && r.Ones,
	} {
		if n {
			s[what]++
		}
	}
	s["parts of continued messages"] += r.Parts
	s["Calls cancelled between their parts"] += r.CutParts
	s["continued messages cut off by the end of a connection"] += r.Broken
}

// report prints the counts. With 60 seeds or more none of the common ones may be 0.
func (v *versionsSeen) report(t *testing.T, seeds int) {
	t.Helper()
	for _, c := range []struct {
		what  string
		least int // of seeds
	}{
		{"seeds with version 0", 60},
		{"seeds with version 1", 60},
		{"seeds with version 2", 60},
		{"seeds with version 1 at an end that has version 2", 60},
		{"seeds that fall back to version 1", 60},
		{"seeds with ceilings of one credit", 60},
		{"seeds with a stranger", 60},
		{"seeds with a stranger and ceilings of one credit", 200},
		{"parts of continued messages", 60},
		{"Calls cancelled between their parts", 200},
		{"continued messages cut off by the end of a connection", 200},
	} {
		n := (*v)[c.what]
		t.Logf("%8d x %s", n, c.what)
		if n == 0 && seeds >= c.least {
			t.Errorf("no %s: the run proves nothing about them", c.what)
		}
	}
}

// A network that changes messages of version 2 is found: the oracles report it.
func TestSabotageOfVersion2IsSeen(t *testing.T) {
	flags := func(m *Message, f byte) { // of an RDMA2_MSG
		if m.Bytes[15] == 0 {
			m.Bytes[19] ^= f
		}
	}
	for name, do := range map[string]func(*Message){
		"one credit more":            func(m *Message) { m.Bytes[11]++ },
		"no credits":                 func(m *Message) { m.Bytes[10], m.Bytes[11] = 0, 0 },
		"the MORE flag":              func(m *Message) { flags(m, 2) },
		"the RESPONSE flag":          func(m *Message) { flags(m, 1) },
		"the XID of a message":       func(m *Message) { m.Bytes[3] ^= 0x40 },
		"the version":                func(m *Message) { m.Bytes[7] = 1 },
		"the last byte of a message": func(m *Message) { m.Bytes[len(m.Bytes)-1] ^= 1 },
		"delivered twice":            func(m *Message) { m.Copy = true },
	} {
		t.Run(name, func(t *testing.T) {
			for s := range uint64(60) {
				n := 0
				r := Run(t, Config{Seed: s, RPCs: 60, Bugs: Bugs{Sabotage: func(m *Message) {
					if m.Bytes[7] != 2 {
						return
					}
					if n++; n >= 20 {
						do(m)
					}
				}}})
				if r.Version == 2 && len(r.Failures) > 0 {
					t.Logf("seed %d: %s", s, r.Failures[0])
					return
				}
			}
			t.Error("all seeds passed")
		})
	}
}
