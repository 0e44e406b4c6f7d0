package oracle

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// place is a directory d with a file f, a directory e and next to it a directory that everyone
// may change, with a file g and a directory h that all may use.
type place struct {
	*scene
	d, aside, f, g object
}

// arrange makes a place. The directory has an owner and a mode, and its entries have an owner.
func (s *scene) arrange(name string, uid, inner uint32, mode nfs3.Mode) place {
	p := place{scene: s}
	at := s.make(s.top, name, nfs3.FileTypeDir, 0, 0, 0o777)
	p.d = s.make(at, "d", nfs3.FileTypeDir, uid, 1000, 0o777)
	p.aside = s.make(at, "aside", nfs3.FileTypeDir, 1000, 1000, 0o777)
	p.f = s.make(p.d, "f", nfs3.FileTypeReg, inner, 1000, 0o666)
	s.make(p.d, "e", nfs3.FileTypeDir, inner, 1000, 0o777)
	p.g = s.make(p.aside, "g", nfs3.FileTypeReg, inner, 1000, 0o666)
	s.make(p.aside, "h", nfs3.FileTypeDir, inner, 1000, 0o777)
	s.set(p.d, attrs(uid, 1000, mode))
	return p
}

// nameChanges are the calls that change the names of a directory.
var nameChanges = []struct {
	name string
	call func(p place, u *user) string
}{
	{"CREATE", func(p place, u *user) string {
		return p.create(u, p.d, "new", nfs3.CreateHow{ObjAttributes: setMode(0o640)})
	}},
	{"CREATE of a file that exists", func(p place, u *user) string { return p.create(u, p.d, "f", nfs3.CreateHow{}) }},
	{"CREATE that empties", func(p place, u *user) string {
		return p.create(u, p.d, "f", nfs3.CreateHow{ObjAttributes: setSize(0)})
	}},
	{"exclusive CREATE", func(p place, u *user) string {
		return p.create(u, p.d, "new", nfs3.CreateHow{Mode: nfs3.CreateModeExclusive})
	}},
	{"MKDIR", func(p place, u *user) string { return p.mkdir(u, p.d, "new", setMode(0o750)) }},
	{"SYMLINK", func(p place, u *user) string { return p.symlink(u, p.d, "new", "to", nfs3.SetAttr{}) }},
	{"MKNOD of a fifo", func(p place, u *user) string {
		return p.mknod(u, p.d, "new", nfs3.FileTypeFifo, setMode(0o640))
	}},
	{"MKNOD of a device", func(p place, u *user) string {
		return p.mknod(u, p.d, "new", nfs3.FileTypeChr, setMode(0o640))
	}},
	{"LINK", func(p place, u *user) string { return p.link(u, p.g, p.d, "new") }},
	{"LINK of a file in it", func(p place, u *user) string { return p.link(u, p.f, p.aside, "new") }},
	{"RENAME within", func(p place, u *user) string { return p.rename(u, p.d, "f", p.d, "new") }},
	{"RENAME out", func(p place, u *user) string { return p.rename(u, p.d, "f", p.aside, "new") }},
	{"RENAME in", func(p place, u *user) string { return p.rename(u, p.aside, "g", p.d, "new") }},
	{"RENAME onto a file", func(p place, u *user) string { return p.rename(u, p.aside, "g", p.d, "f") }},
	{"RENAME of a directory out", func(p place, u *user) string { return p.rename(u, p.d, "e", p.aside, "new") }},
	{"RENAME of a directory in", func(p place, u *user) string { return p.rename(u, p.aside, "h", p.d, "new") }},
	{"REMOVE", func(p place, u *user) string { return p.remove(u, p.d, "f") }},
	{"REMOVE of a name that is not there", func(p place, u *user) string { return p.remove(u, p.d, "absent") }},
	{"RMDIR", func(p place, u *user) string { return p.rmdir(u, p.d, "e") }},
}

// changes asks for the users that may change a directory's names, by its mode.
func changes() []series {
	var list []series
	for _, high := range []nfs3.Mode{0, 0o1000, 0o2000} {
		for bits := range nfs3.Mode(8) {
			if high != 0 && bits&3 != 3 { // a caller may change nothing in it
				continue
			}
			mode := high | bits<<6 | bits<<3 | bits
			for _, c := range nameChanges {
				list = append(list, series{fmt.Sprintf("change/mode %04o/%s", mode, c.name), func(s *scene) {
					for i, u := range everyone() {
						s.both = u.squashed
						p := s.arrange(fmt.Sprint(i), 1000, 1000, mode)
						answer := c.call(p, u)
						s.ask("by "+u.name, answer+"; "+s.tree(p.d)+"; aside "+s.tree(p.aside))
					}
				}})
			}
		}
	}
	return list
}

// stickies asks for the users that may remove and replace names of a directory with the sticky bit,
// by its owner and the object's owner.
func stickies() []series {
	var list []series
	for _, uid := range []uint32{0, 1000} {
		for _, inner := range []uint32{0, 1000, 2000, 65534} {
			for _, mode := range []nfs3.Mode{0o1777} {
				list = append(list, series{fmt.Sprintf("sticky/mode %04o of %d, objects of %d", mode, uid, inner), func(s *scene) {
					for i, u := range everyone() {
						for j, c := range nameChanges {
							if j < 8 { // those that add names
								continue
							}
							s.both = u.squashed
							p := s.arrange(fmt.Sprint(i, "-", j), uid, inner, mode)
							answer := c.call(p, u)
							s.ask(c.name+" by "+u.name, answer+"; "+s.tree(p.d)+"; aside "+s.tree(p.aside))
						}
					}
				}})
			}
		}
	}
	return list
}

// renames asks for the result of each kind of object renamed onto each.
func renames() []series {
	all := append([]nfs3.FileType{0}, kinds...)
	var list []series
	for _, from := range all {
		for _, to := range all {
			list = append(list, series{fmt.Sprintf("rename/%s onto %s", nameOf(from), nameOf(to)), func(s *scene) {
				for i, u := range []*user{owner, root} {
					a, b := s.directory(s.top, fmt.Sprint("a", i)), s.directory(s.top, fmt.Sprint("b", i))
					for j, in := range []object{a, b} { // within one directory, then to another
						if from != 0 {
							s.make(a, fmt.Sprint("x", j), from, 1000, 1000, 0o755)
						}
						if to != 0 {
							s.make(in, fmt.Sprint("y", j), to, 1000, 1000, 0o755)
						}
						answer := s.rename(u, a, fmt.Sprint("x", j), in, fmt.Sprint("y", j))
						s.ask(fmt.Sprintf("%s by %s", []string{"within", "to another directory"}[j], u.name), answer+"; "+s.tree(a)+"; "+s.tree(b))
					}
				}
			}})
		}
	}
	return append(list, series{"rename/special", func(s *scene) {
		d := s.directory(s.top, "d")
		e := s.directory(d, "e")
		s.file(d, "f", 0o644)
		s.file(e, "inner", 0o644)
		s.directory(d, "empty")
		for _, tt := range []struct {
			what    string
			from    object
			name    string
			to      object
			newName string
		}{
			{"a directory into itself", d, "e", e, "below"},
			{"a directory onto one that is not empty", d, "empty", d, "e"},
			{"a directory to its own name", d, "e", d, "e"},
			{"a file to its own name", d, "f", d, "f"},
			{"a directory onto its parent", e, "inner", s.top, "d"},
			{"of .", d, ".", d, "new"}, {"of ..", d, "..", d, "new"}, {"to .", d, "f", d, "."}, {"to ..", d, "f", d, ".."},
			{"of a name in a file", s.top, "absent/f", d, "new"},
		} {
			s.ask(tt.what, s.rename(root, tt.from, tt.name, tt.to, tt.newName)+"; "+s.tree(s.top))
		}
		f := s.file(d, "one", 0o644)
		s.ask("LINK", s.link(owner, f, d, "two"))
		s.ask("onto another name of the same file", s.rename(owner, d, "one", d, "two")+"; "+s.tree(d))
	}})
}

func nameOf(kind nfs3.FileType) string {
	if kind == 0 {
		return "nothing"
	}
	return kindNames[kind]
}

// links asks for the users that may give each kind of object another name.
func links() []series {
	var list []series
	for _, kind := range kinds {
		for _, mode := range []nfs3.Mode{0o600, 0o644, 0o664, 0o666, 0o755, 0o4755, 0o2755, 0o4666, 0o2676} {
			if kind == nfs3.FileTypeLnk && mode != 0o644 {
				continue
			}
			list = append(list, series{fmt.Sprintf("link/%s of mode %04o", kindNames[kind], mode), func(s *scene) {
				s.file(s.top, "there", 0o644)
				for i, u := range everyone() {
					o := s.make(s.top, fmt.Sprint("o", i), kind, 1000, 1000, mode)
					s.ask("by "+u.name, s.link(u, o, s.top, fmt.Sprint("new", i))+"; "+s.attr(o))
				}
				o := s.make(s.top, "o", kind, 1000, 1000, mode)
				s.ask("to a name that exists", s.link(owner, o, s.top, "there")+"; "+s.attr(o))
			}})
		}
	}
	return list
}
