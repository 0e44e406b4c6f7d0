package sema

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/source"
	"github.com/rpcrdma/rpcrdma/cmd/internal/syntax"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// undefinedType reports an undeclared type, once for each name.
func (c *compiler) undefinedType(u *unit, t *syntax.Type) {
	if u.missing[t.Name] || u.partial {
		return
	}
	u.missing[t.Name] = true
	d := usedTimes(u, diag.New(diag.UndefinedType, t.Span, "type %s is not declared", t.Name), t.Name)
	if at, ok := u.declaredForC(t.Name); ok {
		d = d.With(at, "declared here, for C only")
	}
	fits := func(s *symbol) bool {
		return s.isType() && !(s.def != nil && s.def.Kind == syntax.Typedef && s.def.Span.File == t.Span.File &&
			// Not the typedef that uses the name.
			s.def.Span.Start <= t.Span.Start && t.Span.End <= s.def.Span.End)
	}
	c.report(c.suggest(u, d, t.Name, fits, "int", "unsigned", "hyper", "bool", "float", "double", "string", "opaque", "struct"))
}

// undefinedConst reports an undeclared constant, once for each name.
func (c *compiler) undefinedConst(u *unit, v syntax.Value) {
	if u.missing[v.Text] || u.partial {
		return
	}
	u.missing[v.Text] = true
	d := usedTimes(u, diag.New(diag.UndefinedConst, v.Span, "constant %s is not declared", v.Text), v.Text)
	// Not the one that the name defines.
	fits := func(s *symbol) bool { return s.isConst() && s.state != resolving }
	c.report(c.suggest(u, d, v.Text, fits, "TRUE", "FALSE"))
}

// usedTimes adds a note with the number of further uses of an undeclared name.
func usedTimes(u *unit, d diag.Diagnostic, name string) diag.Diagnostic {
	switch n := u.uses[name] - 1; {
	case n == 1:
		return d.Note("it is used once more")
	case n > 1:
		return d.Note("it is used %d times more", n)
	}
	return d
}

// declaredForC returns the place of a line for C (%) that declares a type.
func (u *unit) declaredForC(name string) (source.Span, bool) {
	if u.forC == nil {
		u.forC = map[string]source.Span{}
		for _, f := range u.files {
			for _, at := range f.Percent {
				declared := typeOfC(at.Text())
				if _, ok := u.forC[declared]; !ok && declared != "" {
					u.forC[declared] = at
				}
			}
		}
	}
	at, ok := u.forC[name]
	return at, ok
}

// typeOfC returns the name of the type that a line of C declares, or "".
func typeOfC(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return r != '_' && !isLetterOrDigit(r) })
	if len(words) < 2 {
		return ""
	}
	switch words[0] {
	case "typedef":
		return words[len(words)-1]
	case "struct", "enum", "union":
		if !strings.Contains(line, ";") {
			return words[1]
		}
	}
	return ""
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// ways adds notes with the three ways to declare a name outside the file: another file, a flag
// and the sidecar. It also notes the C headers that may declare the name.
func (c *compiler) ways(u *unit, d diag.Diagnostic, name string) diag.Diagnostic {
	var headers []string
	for _, f := range u.files {
		for _, h := range f.Headers {
			if f.Source == d.Span.File && len(headers) < 4 && strings.HasSuffix(h.Name, ".h") {
				headers = append(headers, diag.Quote(h.Name))
			}
		}
	}
	if len(headers) > 0 {
		d = d.Note("for C the file includes %s, which is not read", strings.Join(headers, ", "))
	}
	flag, line := "-D "+name+"=VALUE", "define "+name+" VALUE"
	if d.Rule == diag.UndefinedType {
		flag, line = "-type '"+name+"=XDRTYPE', such as -type '"+name+"=opaque<>'", "type "+name+" XDRTYPE"
		if short, long, ok := systemType(name); ok {
			flag = "-type '" + name + "=" + short + "', or -type '" + name + "=" + long + "' if it has 8 bytes: systems differ"
		}
	}
	d = d.Note("if another file declares it: #include \"FILE.x\" in this one, or the flag -import FILE.x")
	d = d.Note("if none does: the flag %s", flag)
	return d.Note("or permanently: the line %s in the sidecar %s", diag.Quote(line), u.sidecar(d.Span.File))
}

// systemType returns the two XDR types that a C type can stand for whose size depends on the
// system.
func systemType(name string) (short, long string, ok bool) {
	switch name {
	case "time_t", "off_t", "ssize_t", "daddr_t", "blkcnt_t", "clock_t", "suseconds_t", "ptrdiff_t", "intptr_t":
		return "int", "hyper", true
	case "dev_t", "ino_t", "size_t", "nlink_t", "rlim_t", "fsblkcnt_t", "fsfilcnt_t", "id_t", "uintptr_t":
		return "unsigned int", "unsigned hyper", true
	}
	return "", "", false
}

// sidecar returns the name of the unit's sidecar, which may not exist.
func (u *unit) sidecar(f *source.File) string {
	switch {
	case u.bind != nil && u.bind.File != "":
		return path.Base(u.bind.File)
	case len(u.have) > 1 || u.imp != nil:
		return u.name + ".bind"
	}
	return strings.TrimSuffix(f.Base(), ".x") + ".bind"
}

// maxSuggest limits how many findings get a suggestion, since each one looks at all names.
const maxSuggest = 50

// maySuggest reports whether a further finding gets a suggestion.
func (c *compiler) maySuggest() bool {
	c.suggested++
	return c.suggested <= maxSuggest && !c.o.Plain
}

// suggest adds help to a finding: the file to include, or the most similar name.
func (c *compiler) suggest(u *unit, d diag.Diagnostic, name string, fits func(*symbol) bool, names ...string) diag.Diagnostic {
	if !c.maySuggest() {
		return d
	}
	if file := c.declaredElsewhere(u, name); file != "" {
		return d.Helpf("add the line #include \"%s\"", file)
	}
	if file := c.declaredBeside(u, name); file != "" {
		return d.Helpf("%s declares it: add the line #include \"%s\", or give both files", file, file)
	}
	for _, s := range u.visible() {
		if fits(s) {
			names = append(names, s.name)
		}
	}
	if n, ok := nearest(name, names); ok {
		if s := u.lookup(n); s != nil {
			d = d.With(s.span, "declared here")
		}
		return d.Helpf("did you mean %s?", n)
	}
	return c.ways(u, d, name)
}

// nearest returns the name that differs only in case, or the most similar one.
func nearest(name string, names []string) (string, bool) {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n, true
		}
	}
	return spelling.Nearest(name, names)
}

// visible returns all symbols of the unit and its imports.
func (u *unit) visible() []*symbol {
	out := append([]*symbol(nil), u.syms...)
	for _, i := range u.imports {
		out = append(out, i.syms...)
	}
	return out
}

// declaredBeside returns the file of the unit's folder that declares a name and is not part of
// the unit, or "".
func (c *compiler) declaredBeside(u *unit, name string) string {
	files, err := c.readDir(u.dir)
	if err != nil {
		return ""
	}
	for _, f := range files {
		file := filepath.Join(u.dir, f.Name())
		if strings.HasSuffix(file, ".x") && !u.have[file] && c.declares(file, name) {
			return f.Name()
		}
	}
	return ""
}

// declaredElsewhere returns the file "unit/file.x" in the -I folders that declares a name, or "".
func (c *compiler) declaredElsewhere(u *unit, name string) string {
	for _, root := range c.o.Include {
		units, err := c.readDir(root)
		if err != nil {
			continue
		}
		for _, e := range units {
			dir := filepath.Join(root, e.Name())
			if abs, err := filepath.Abs(dir); err != nil || abs == u.dir || !e.IsDir() {
				continue
			}
			files, err := c.readDir(dir)
			if err != nil {
				continue
			}
			for _, f := range files {
				if strings.HasSuffix(f.Name(), ".x") && c.declares(filepath.Join(dir, f.Name()), name) {
					return path.Join(e.Name(), f.Name())
				}
			}
		}
	}
	return ""
}

// maxOther is the size of the largest file that is read only for a suggestion.
const maxOther = 1 << 20

// declares reports whether a file declares a name. It ignores faults of the file.
func (c *compiler) declares(file, name string) bool {
	names := c.others[file]
	if names == nil {
		names = map[string]bool{}
		if c.others == nil {
			c.others = map[string]map[string]bool{}
		}
		c.others[file] = names
		text, err := c.readRegular(file, maxOther)
		if err != nil || len(text) > maxOther {
			return false
		}
		parsed := c.parser.Parse(source.NewFile(file, text), &syntax.Context{
			Macros: map[string]string{}, Report: func(diag.Diagnostic) {}, Include: func(string, source.Span) {},
		})
		for _, d := range parsed.Defs {
			names[d.Name.Name] = true
			for _, m := range d.Members {
				names[m.Name.Name] = true
			}
		}
	}
	return names[name]
}
