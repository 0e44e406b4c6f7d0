package sema

import (
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/rpcrdma/rpcrdma/cmd/internal/diag"
	"github.com/rpcrdma/rpcrdma/cmd/internal/ir"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
)

// adviser adds help to findings about names: what the name is perhaps meant to be, and where it is
// declared.
type adviser struct {
	lib     *library
	include []string // Options.Include
	plain   bool     // Options.Plain: no suggestions
	asked   int      // number of findings that asked for a suggestion
}

// maxSuggest limits how many findings get a suggestion, since each one looks at all names.
const maxSuggest = 50

// may reports whether a further finding gets a suggestion.
func (a *adviser) may() bool {
	a.asked++
	return a.asked <= maxSuggest && !a.plain
}

// suggest adds help to a finding: the file to include, or the most similar name.
func (a *adviser) suggest(u *unit, d diag.Diagnostic, name string, fits func(*symbol) bool, names ...string) diag.Diagnostic {
	if !a.may() {
		return d
	}
	if file := a.declaredElsewhere(u, name); file != "" {
		if d.Span.File.Document != nil {
			return d.Helpf("add to the sidecar %s the line \"import %s\"", u.sidecar(d.Span.File), file)
		}
		return d.Helpf("add the line #include \"%s\"", file)
	}
	if file := a.declaredBeside(u, name); file != "" {
		return d.Helpf("%s declares it: add the line #include \"%s\", or give both files", file, file)
	}
	for _, s := range u.visible() {
		if fits(s) {
			names = append(names, s.name)
		}
	}
	if d.Rule == diag.UndefinedType && foreignTypes[name] != "" {
		return d.Helpf("%s", foreignTypes[name])
	}
	if d.Rule == diag.UndefinedConst && hexDigits.MatchString(name) {
		return d.Helpf("a hexadecimal number begins with 0x: write 0x%s", name)
	}
	if n, ok := nearest(name, names); ok {
		if s := u.lookup(n); s != nil {
			d = d.With(s.span, "declared here")
		}
		return d.Helpf("did you mean %s?", n)
	}
	return a.ways(u, d, name)
}

// ways adds notes with the three ways to declare a name outside the file: another file, a flag
// and the sidecar. It also notes the C headers that may declare the name.
func (a *adviser) ways(u *unit, d diag.Diagnostic, name string) diag.Diagnostic {
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

// nearest returns the name that differs only in case, or the most similar one.
func nearest(name string, names []string) (string, bool) {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return n, true
		}
	}
	return spelling.Nearest(name, names)
}

// declaredBeside returns the file of the unit's folder that declares a name and is not part of
// the unit, or "".
func (a *adviser) declaredBeside(u *unit, name string) string {
	files, err := a.lib.readDir(u.dir)
	if err != nil {
		return ""
	}
	for _, f := range files {
		file := filepath.Join(u.dir, f.Name())
		if strings.HasSuffix(file, ".x") && !u.have[file] && a.lib.declares(file, name) {
			return f.Name()
		}
	}
	return ""
}

// declaredElsewhere returns the file "unit/file.x" in the -I folders that declares a name, or "".
func (a *adviser) declaredElsewhere(u *unit, name string) string {
	for _, root := range a.include {
		units, err := a.lib.readDir(root)
		if err != nil {
			continue
		}
		for _, e := range units {
			dir := filepath.Join(root, e.Name())
			if abs, err := filepath.Abs(dir); err != nil || abs == u.dir || !e.IsDir() {
				continue
			}
			files, err := a.lib.readDir(dir)
			if err != nil {
				continue
			}
			for _, f := range files {
				if strings.HasSuffix(f.Name(), ".x") && a.lib.declares(filepath.Join(dir, f.Name()), name) {
					return path.Join(e.Name(), f.Name())
				}
			}
		}
	}
	return ""
}

// notMember adds help to a finding about a name or number that is not a member of an enum.
func (a *adviser) notMember(d diag.Diagnostic, name string, enum *ir.Decl) diag.Diagnostic {
	d = d.With(enum.Pos, "the discriminant's enum is declared here")
	if !a.may() {
		return d
	}
	var names []string
	for _, m := range enum.Members {
		names = append(names, m.Name)
	}
	if n, ok := nearest(name, names); ok {
		return d.Helpf("did you mean %s?", n)
	}
	if len(names) > 0 && len(names) <= 6 {
		sort.Strings(names)
		return d.Helpf("use one of %s", strings.Join(names, ", "))
	}
	return d
}

// orOneOf adds to a finding the most similar of the names that are right there, or else the names
// themselves.
func (a *adviser) orOneOf(d diag.Diagnostic, name string, names []string) diag.Diagnostic {
	if !a.may() || len(names) == 0 {
		return d
	}
	if near, ok := nearest(name, names); ok {
		return d.Helpf("did you mean %s?", near)
	}
	return d.Helpf("use one of %s", strings.Join(names[:min(len(names), 12)], ", "))
}

// nearestName adds the most similar name to a finding.
func (a *adviser) nearestName(n bindNames, d diag.Diagnostic, name string) diag.Diagnostic {
	if !a.may() {
		return d
	}
	var all []string
	for k := range n.set {
		all = append(all, k)
	}
	if near, ok := spelling.Nearest(name, all); ok {
		return d.Helpf("did you mean %s?", near)
	}
	return d
}

// foreignTypes has help on types of other languages that files use and do not declare.
var foreignTypes = map[string]string{
	"boolean": "the XDR type is bool", "Boolean": "the XDR type is bool",
	"byte": "write opaque NAME<> for bytes, or opaque NAME[N] for N bytes", "bytes": "write opaque NAME<>",
	"blob": "write opaque NAME<>", "binary": "write opaque NAME<>",
	"float32": "the XDR type is float", "float64": "the XDR type is double",
	"integer": "the XDR type is int", "Integer": "the XDR type is int",
	"text": "write string NAME<>", "String": "write string NAME<>", "str": "write string NAME<>",
}

// hexDigits matches a name that is probably a hexadecimal number without 0x.
var hexDigits = regexp.MustCompile(`^[A-Fa-f][A-Fa-f0-9]*[0-9][A-Fa-f0-9]*$`)
