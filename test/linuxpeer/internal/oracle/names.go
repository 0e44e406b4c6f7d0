package oracle

import (
	"fmt"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// oddNames are names that servers may refuse, or confuse.
var oddNames = []string{
	"", ".", "..", "...", "....", " ", "a b", "a\nb", "a\tb", "\x01", "\x7f", "\xff", "\xc3\xa9", "e\xcc\x81", "\xff\xfe", "\xed\xa0\x80",
	"a/b", "/", "/a", "a/", "../a", "./a", "a\x00b", "\x00", "a\x00", "-", "-rf", "~", "*", "?", "$HOME", "a\\b", "\\", ":", "CON", "a.", ".nfs000", "%2e%2e",
	strings.Repeat("n", 254), strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("n", 1024), strings.Repeat("n", 4096),
	strings.Repeat("\xc3\xa9", 127), strings.Repeat("\xc3\xa9", 128), strings.Repeat(".", 255), strings.Repeat("/", 255),
}

func short(name string) string {
	if len(name) > 24 {
		return fmt.Sprintf("%q of %d bytes", name[:4], len(name))
	}
	return fmt.Sprintf("%q", name)
}

// names asks for each procedure that takes a name about odd ones, first while the directory does
// not have them.
func names() []series {
	var list []series
	for _, n := range oddNames {
		list = append(list, series{"name/" + short(n), func(s *scene) {
			top := s.directory(s.top, "top")
			d := s.directory(top, "d")
			f := s.file(d, "f", 0o644)
			u := owner
			ask := func(question, answer string) { s.ask(question, answer+"; "+s.tree(top)) }
			s.ask("LOOKUP without it", s.lookup(u, d, n))
			ask("REMOVE without it", s.remove(u, d, n))
			ask("RMDIR without it", s.rmdir(u, d, n))
			ask("RENAME from it without it", s.rename(u, d, n, d, "new"))
			ask("CREATE", s.create(u, d, n, nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: setMode(0o640)}))
			s.ask("LOOKUP", s.lookup(u, d, n))
			s.ask("READDIR", s.readdir(u, d))
			ask("REMOVE", s.remove(u, d, n))
			ask("exclusive CREATE", s.create(u, d, n, nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}))
			ask("RENAME from it", s.rename(u, d, n, d, "new"))
			ask("REMOVE of the new name", s.remove(u, d, "new"))
			ask("RENAME to it", s.rename(u, d, "f", d, n))
			ask("RENAME back", s.rename(u, d, n, d, "f"))
			ask("LINK", s.link(u, f, d, n))
			ask("REMOVE of the link", s.remove(u, d, n))
			ask("MKDIR", s.mkdir(u, d, n, setMode(0o750)))
			ask("RMDIR", s.rmdir(u, d, n))
			ask("SYMLINK", s.symlink(u, d, n, "to", nfs3.SetAttr{}))
			ask("REMOVE of the symbolic link", s.remove(u, d, n))
			ask("MKNOD", s.mknod(u, d, n, nfs3.FileTypeFifo, setMode(0o640)))
		}})
	}
	return append(list, series{"name/target of a symbolic link", func(s *scene) {
		for i, to := range append(oddNames, strings.Repeat("t", 4094), strings.Repeat("t", 4095), strings.Repeat("t/", 2047)) {
			name := fmt.Sprint("l", i)
			s.ask(fmt.Sprintf("%s (%d)", short(to), i), s.symlink(owner, s.top, name, to, nfs3.SetAttr{}))
			res, err := s.clients[owner].Lookup(s.ctx, &nfs3.LookupArgs{What: under(s.top.plain, name)})
			s.must(err)
			if res.Status == nfs3.StatusOK {
				s.ask(fmt.Sprintf("READLINK of %s (%d)", short(to), i), s.readlink(owner, object{plain: res.OK.Object}))
			}
		}
	}})
}

// anyCall calls each procedure with o's handle in each place that takes a handle.
func (s *scene) anyCall(u *user, at string, o, dir, f object) {
	c, h := s.clients[u], o.of(u)
	ask := func(procedure, answer string) { s.ask(at+"/"+procedure+" by "+u.name, answer) }
	got, err := c.GetAttr(s.ctx, &nfs3.GetAttrArgs{Object: h})
	ask("GETATTR", failure(got, err))
	ask("SETATTR of the mode", s.setattr(u, o, setMode(0o640)))
	ask("SETATTR of the size", s.setattr(u, o, setSize(2)))
	ask("SETATTR of the times", s.setattr(u, o, nfs3.SetAttr{Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime}}))
	ask("LOOKUP", s.lookup(u, o, "absent"))
	ask("LOOKUP of .", s.lookup(u, o, "."))
	ask("LOOKUP of ..", s.lookup(u, o, ".."))
	ask("ACCESS", s.access(u, o))
	ask("READLINK", s.readlink(u, o))
	ask("READ", s.read(u, o, 0, 10))
	ask("WRITE", s.put(u, o, 0, []byte("x"), nfs3.StableHowUnstable))
	ask("CREATE", s.create(u, o, "new", nfs3.CreateHow{ObjAttributes: setMode(0o640)}))
	ask("exclusive CREATE", s.create(u, o, "excl", nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}))
	ask("MKDIR", s.mkdir(u, o, "newdir", setMode(0o750)))
	ask("SYMLINK", s.symlink(u, o, "newlink", "to", nfs3.SetAttr{}))
	ask("MKNOD", s.mknod(u, o, "newnode", nfs3.FileTypeFifo, setMode(0o640)))
	ask("REMOVE", s.remove(u, o, "new"))
	ask("REMOVE of .", s.remove(u, o, "."))
	ask("RMDIR", s.rmdir(u, o, "newdir"))
	ask("RMDIR of ..", s.rmdir(u, o, ".."))
	ask("RENAME from", s.rename(u, o, "newnode", dir, "renamed"))
	ask("RENAME to", s.rename(u, dir, "absent", o, "renamed"))
	ask("LINK of o", s.link(u, o, dir, fmt.Sprintf("%.8s-%s", at, u.name)))
	ask("LINK in it", s.link(u, f, o, "linked"))
	ask("READDIR", s.readdir(u, o))
	ask("READDIRPLUS", s.plus(u, o))
	stat, err := c.FSStat(s.ctx, &nfs3.FSStatArgs{FSRoot: h})
	ask("FSSTAT", failure(stat, err))
	info, err := c.FSInfo(s.ctx, &nfs3.FSInfoArgs{FSRoot: h})
	ask("FSINFO", failure(info, err))
	conf, err := c.PathConf(s.ctx, &nfs3.PathConfArgs{Object: h})
	ask("PATHCONF", failure(conf, err))
	ask("COMMIT", s.commit(u, o, 0, 0))
}

// types asks for each procedure about each kind of object.
func types() []series {
	var list []series
	for _, kind := range kinds {
		for _, u := range []*user{owner, other, root, squashed} {
			list = append(list, series{"type/" + kindNames[kind], func(s *scene) {
				dir := s.directory(s.top, "dir")
				o := s.make(s.top, "o", kind, 1000, 1000, 0o755)
				s.anyCall(u, "as it is", o, dir, s.file(s.top, "f", 0o666))
				s.ask("afterwards by "+u.name, s.attr(o))
			}})
		}
	}
	return list
}

// handles asks for each procedure about handles that no object has, or has any more.
func handles() []series {
	bad := map[string]func(h []byte) []byte{
		"empty":             func([]byte) []byte { return nil },
		"a byte":            func([]byte) []byte { return []byte{1} },
		"4 zeros":           func([]byte) []byte { return make([]byte, 4) },
		"32 zeros":          func([]byte) []byte { return make([]byte, 32) },
		"64 zeros":          func([]byte) []byte { return make([]byte, 64) },
		"64 ones":           func([]byte) []byte { return []byte(strings.Repeat("\xff", 64)) },
		"the first byte":    func(h []byte) []byte { h[0] ^= 0x10; return h },
		"the last byte":     func(h []byte) []byte { h[len(h)-1] ^= 0x10; return h },
		"a byte in between": func(h []byte) []byte { h[len(h)*3/4] ^= 0x10; return h },
		"a byte less":       func(h []byte) []byte { return h[:len(h)-1] },
		"4 bytes less":      func(h []byte) []byte { return h[:len(h)-4] },
		"4 bytes more":      func(h []byte) []byte { return append(h, 0, 0, 0, 0) },
	}
	var list []series
	for _, what := range sortedKeys(bad) {
		for _, kind := range []nfs3.FileType{nfs3.FileTypeReg, nfs3.FileTypeDir} {
			list = append(list, series{"handle/" + kindNames[kind], func(s *scene) {
				dir, f := s.directory(s.top, "dir"), s.file(s.top, "f", 0o666)
				o := s.make(s.top, "o", kind, 1000, 1000, 0o755)
				o.plain.Data = bad[what](append([]byte(nil), o.plain.Data...))
				s.anyCall(owner, what, o, dir, f)
			}})
		}
	}
	for _, kind := range kinds {
		list = append(list, series{"handle/" + kindNames[kind], func(s *scene) {
			dir, f := s.directory(s.top, "dir"), s.file(s.top, "f", 0o666)
			o := s.make(s.top, "o", kind, 1000, 1000, 0o755)
			var code string
			if kind == nfs3.FileTypeDir {
				code = s.rmdir(root, s.top, "o")
			} else {
				code = s.remove(root, s.top, "o")
			}
			s.ask("removed", code)
			s.anyCall(owner, "after it was removed", o, dir, f)
		}})
	}
	return list
}
