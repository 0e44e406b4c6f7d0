package decode

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/dynamic"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
)

// Filter selects calls. Its zero value selects all. Each list that is not empty must have a
// value of the call.
type Filter struct {
	XIDs       []uint32
	Programs   []uint32
	Procedures []Procedure
}

// Procedure is a procedure of a Filter. Program and version are -1 for any.
type Procedure struct{ Program, Version, Number int64 }

// NewFilter returns the filter for XIDs, in decimal or with 0x, and for programs and procedures by
// name or number: PROGRAM.VERSION.PROCEDURE, or the procedure's name or number alone.
func (d *Decoder) NewFilter(xids, programs, procedures []string) (f Filter, err error) {
	for _, s := range xids {
		n, err := strconv.ParseUint(s, 0, 32)
		if err != nil {
			return f, fmt.Errorf("-xid %s: expected a number of 32 bits", s)
		}
		f.XIDs = append(f.XIDs, uint32(n))
	}
	for _, s := range programs {
		n, err := d.program(s)
		if err != nil {
			return f, err
		}
		f.Programs = append(f.Programs, n)
	}
	for _, s := range procedures {
		found, err := d.procedure(s)
		if err != nil {
			return f, err
		}
		f.Procedures = append(f.Procedures, found...)
	}
	return f, nil
}

// program returns the number of a program.
func (d *Decoder) program(s string) (uint32, error) {
	if n, err := strconv.ParseUint(s, 0, 32); err == nil {
		return uint32(n), nil
	}
	var names []string
	if d.Unit != nil {
		for _, p := range dynamic.Programs(d.Unit) {
			if p.Name == s {
				return p.Program.Number, nil
			}
			names = append(names, p.Name)
		}
	}
	return 0, fmt.Errorf("-program %s: expected a number, or a program that the files declare: %s", s, strings.Join(names, ", "))
}

// procedure returns the procedures that a value of -procedure names.
func (d *Decoder) procedure(s string) ([]Procedure, error) {
	if n, err := strconv.ParseUint(s, 0, 32); err == nil {
		return []Procedure{{-1, -1, int64(n)}}, nil
	}
	if parts := strings.Split(s, "."); len(parts) == 3 {
		var n [3]int64
		known := true
		for i, p := range parts {
			v, err := strconv.ParseUint(p, 0, 32)
			n[i], known = int64(v), known && err == nil
		}
		if known {
			return []Procedure{{n[0], n[1], n[2]}}, nil
		}
		if d.Unit != nil {
			p, err := dynamic.FindProcedure(d.Unit, s)
			if err != nil {
				return nil, fmt.Errorf("-procedure %s: %w", s, err)
			}
			return []Procedure{{int64(p.Program.Program.Number), int64(p.Version.Number), int64(p.Proc.Number)}}, nil
		}
	}
	var out []Procedure
	if d.Unit != nil {
		for _, p := range dynamic.Programs(d.Unit) {
			for _, v := range p.Program.Versions {
				for _, proc := range v.Procs {
					if proc.Name == s {
						out = append(out, Procedure{int64(p.Program.Number), int64(v.Number), int64(proc.Number)})
					}
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("-procedure %s: expected a number, or a procedure that the files declare", s)
	}
	return out, nil
}

// Match reports whether the filter selects a call.
func (f *Filter) Match(c *capture.Call) bool {
	return one(f.XIDs, func(x uint32) bool { return x == c.XID }) &&
		one(f.Programs, func(p uint32) bool { return c.HasCall && p == c.Program }) &&
		one(f.Procedures, func(p Procedure) bool {
			return c.HasCall && is(p.Program, c.Program) && is(p.Version, c.Version) && is(p.Number, c.Procedure)
		})
}

// is reports whether a number is the one wanted, or any is.
func is(want int64, n uint32) bool { return want < 0 || want == int64(n) }

// one reports whether a list is empty or has an element for which is returns true.
func one[T interface{ uint32 | Procedure }](list []T, is func(T) bool) bool {
	for _, x := range list {
		if is(x) {
			return true
		}
	}
	return len(list) == 0
}
