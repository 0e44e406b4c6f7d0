package lint

import (
	"fmt"
	"math"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
)

// unions reports a union that cannot be extended, lacks arms, or has a default that is
// never taken.
func (l *linter) unions(d *ir.Decl) {
	if d.Kind != ir.Union {
		return
	}
	var def *ir.Arm
	covered := map[string]bool{}
	for _, a := range d.Arms {
		if a.Default {
			def = a
		}
		for _, v := range a.Labels {
			covered[v.Value.Decimal()] = true
		}
	}
	under := d.Disc.Type.Underlying()
	switch {
	case under.Kind == ir.Int, under.Kind == ir.Uint, under.Kind == ir.Ref && under.Ref.Open:
		if def == nil {
			l.report(ClosedUnion, d, finding(ClosedUnion, d.Pos, "union %s, selected by the number %s, has no default", d.Name, d.Disc.Name))
		}
		return
	}
	missing := uncovered(under, covered)
	switch {
	case len(missing) == 0 && def != nil && len(def.Labels) == 0:
		l.report(DeadDefault, d, finding(DeadDefault, def.Pos, "the default of union %s is never taken", d.Name))
	case len(missing) > 0 && def == nil:
		f := finding(MissingArm, d.Pos, "union %s has no arm for %s", d.Name, list(missing))
		if under.Ref != nil {
			f = f.With(under.Ref.Pos, "the values are declared here")
		}
		l.report(MissingArm, d, f)
	}
	if under.Kind != ir.Ref {
		return
	}
	l.numericCases(d, under.Ref)
}

// numericCases reports cases written as numbers for which the enum has a name.
func (l *linter) numericCases(d, enum *ir.Decl) {
	names := map[string]string{}
	for _, m := range enum.Members {
		if n := fmt.Sprint(m.Value); names[n] == "" {
			names[n] = m.Name
		}
	}
	for _, a := range d.Arms {
		for _, v := range a.Labels {
			text := v.Value.Text
			digit := text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9')
			if name := names[v.Value.Decimal()]; digit && name != "" {
				l.report(NumericCase, d, finding(NumericCase, v.Pos, "case %s is the member %s", text, name))
			}
		}
	}
}

// uncovered returns the names of the values of a bool or enum that have no case.
func uncovered(t *ir.Type, covered map[string]bool) []string {
	var out []string
	if t.Kind == ir.Bool {
		for i, name := range []string{"FALSE", "TRUE"} {
			if !covered[fmt.Sprint(i)] {
				out = append(out, name)
			}
		}
		return out
	}
	for _, m := range t.Ref.Members {
		if n := fmt.Sprint(m.Value); !covered[n] {
			covered[n] = true // do not list other names of the same value
			out = append(out, m.Name)
		}
	}
	return out
}

// list joins names, but of many only the first few.
func list(names []string) string {
	if len(names) > 4 {
		return strings.Join(names[:3], ", ") + fmt.Sprintf(" and %d more", len(names)-3)
	}
	return strings.Join(names, ", ")
}

// enums reports an enum without a member 0.
func (l *linter) enums(d *ir.Decl) {
	if d.Kind != ir.Enum || len(d.Members) == 0 {
		return
	}
	for _, m := range d.Members {
		if m.Value == 0 {
			return
		}
	}
	l.report(EnumWithoutZero, d, finding(EnumWithoutZero, d.Pos, "enum %s has no member 0", d.Name))
}

// bools reports several bools in a row.
func (l *linter) bools(d *ir.Decl) {
	run := func(fields []*ir.Field, limit int, where string) {
		n := 0
		for _, f := range fields {
			if f.Type.Underlying().Kind != ir.Bool {
				n = 0
				continue
			}
			if n++; n == limit {
				l.report(BoolTrap, d, finding(BoolTrap, f.Pos, "%s is bool number %d in a row in %s", f.Name, n, where))
			}
		}
	}
	run(d.Fields, 3, "struct "+d.Name)
	if d.Kind != ir.Program {
		return
	}
	for _, v := range d.Program.Versions {
		for _, p := range v.Procs {
			run(p.Args, 2, "procedure "+p.Name)
		}
	}
}

// programs reports departures of a program from the conventions of RPC.
func (l *linter) programs(d *ir.Decl) {
	if d.Kind != ir.Program {
		return
	}
	if n := d.Program.Number; n == 0 || n >= 0x40000000 {
		l.report(ProgramNumber, d, finding(ProgramNumber, d.Pos, "program %s has the number 0x%08x", d.Name, n))
	}
	for _, v := range d.Program.Versions {
		var null *ir.Proc
		for _, p := range v.Procs {
			if p.Number == 0 {
				null = p
			}
			// Generated types have XDRMaxSize, by which clients offer memory, up to 2 GiB.
			if l.bind.RPC && p.Result != nil && (p.Result.Size.Unbounded || p.Result.Size.Max > math.MaxInt32) && len(p.Limit) == 0 {
				l.report(UnboundedResults, d, finding(UnboundedResults, p.Pos, "the results of %s.%s have no bound: over RDMA they may have 512 KiB", v.Name, p.Name))
			}
		}
		switch {
		case null == nil:
			l.report(NullProcedure, d, finding(NullProcedure, v.Pos, "version %s of program %s has no procedure 0", v.Name, d.Name))
		case len(null.Args) > 0 || null.Result != nil:
			f := finding(NullProcedure, null.Pos, "procedure 0 of version %s, %s, has an argument or a result", v.Name, null.Name)
			l.report(NullProcedure, d, f.Helpf("give this procedure another number, and use 0 for one that takes and returns void"))
		}
	}
}
