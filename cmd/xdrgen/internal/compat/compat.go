package compat

import (
	"fmt"
	"sort"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// Change is one difference between the two versions.
type Change struct {
	Rule    Rule
	Effects Effects
	Path    string      // "struct foo.bar", "program P version V procedure F argument x"
	Message string      // the difference; lower case, no full stop
	Old     source.Span // invalid if something was added
	New     source.Span // invalid if something was removed
}

// Revision is one version of a protocol: a unit without errors, and its sidecar.
type Revision struct {
	Unit *ir.Unit
	Bind *ir.Bind // nil for none

	GoNames []ir.Rename // Go names of the declarations in the generated package
}

// Compare returns the differences in order of their positions in the new version, and
// removals last.
func Compare(old, new Revision) []Change {
	c := &comparer{wire: newWire(), twin: map[*ir.Decl]*ir.Decl{}, found: map[*ir.Decl]bool{}}
	a, b := old.Unit.AllDecls(), new.Unit.AllDecls()
	c.oldUses, c.newUses = uses(a), uses(b)
	pairs := c.match(old.Unit, new.Unit)
	for _, p := range pairs {
		c.decl(p.old, p.new)
	}
	c.unmatched(a, b)
	c.codes(old.Bind, new.Bind)
	c.names(old.GoNames, new.GoNames)
	sort.SliceStable(c.out, func(i, j int) bool { return before(c.out[i], c.out[j]) })
	return c.out
}

// before reports whether a comes before b in the result of Compare.
func before(a, b Change) bool {
	if a.New.Valid() != b.New.Valid() {
		return a.New.Valid()
	}
	x, y := a.New, b.New
	if !x.Valid() {
		x, y = a.Old, b.Old
	}
	if !x.Valid() || !y.Valid() || x.File == y.File {
		return x.Start < y.Start
	}
	return x.File.Name < y.File.Name
}

// comparer is the state of one Compare.
type comparer struct {
	wire             *wire
	twin             map[*ir.Decl]*ir.Decl // old declaration to new
	found            map[*ir.Decl]bool     // new declarations that have a twin
	oldUses, newUses map[*ir.Decl]bool     // constants used as bounds or cases
	out              []Change
}

// add records a change with the effects of its rule.
func (c *comparer) add(r Rule, path string, old, new source.Span, format string, args ...any) *Change {
	c.out = append(c.out, Change{
		Rule: r, Effects: r.Info().Effects, Path: path, Message: fmt.Sprintf(format, args...), Old: old, New: new,
	})
	return &c.out[len(c.out)-1]
}

// Allow is the set of classes (wire, source, extension) and rules whose breaks are allowed.
type Allow map[string]bool

// ParseAllow returns the set with the given names of classes and rules.
func ParseAllow(names []string) (Allow, error) {
	a := Allow{}
	known := []string{"wire", "source", "extension"}
	for _, r := range rules {
		known = append(known, r.Name)
	}
	for _, n := range names {
		ok := false
		for _, k := range known {
			ok = ok || k == n
		}
		if !ok {
			hint := "wire, source, extension or the name of a rule"
			if near, found := spelling.Nearest(n, known); found {
				hint = near
			}
			return nil, fmt.Errorf("found %s, expected %s", diag.Quote(n), hint)
		}
		a[n] = true
	}
	return a, nil
}

// Broken returns the classes in which a change breaks something that is not
// allowed: "wire", "source", "extension".
func (a Allow) Broken(c Change) []string {
	if a[c.Rule.Info().Name] {
		return nil
	}
	var out []string
	for _, k := range c.Classes() {
		if !a[k] {
			out = append(out, k)
		}
	}
	return out
}

// Classes returns the classes in which a change breaks something.
func (c Change) Classes() []string {
	var out []string
	if c.Effects.Wire != OK {
		out = append(out, "wire")
	}
	if c.Effects.Source != OK {
		out = append(out, "source")
	}
	if c.Effects.Extension() != OK {
		out = append(out, "extension")
	}
	return out
}
