package oracle

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// rights asks what each user may do with a file and a directory of each mode, without a change.
func rights() []series {
	var list []series
	for m := range nfs3.Mode(0o1000) {
		// One mode in four, so that each class of users meets each value with many of the others.
		if (m>>6+m>>3+m)%4 == 0 {
			list = append(list, rightsOf(m))
		}
	}
	for _, m := range []nfs3.Mode{0o1000, 0o2000, 0o4000, 0o7000, 0o1777, 0o2070, 0o4700, 0o7777, 0o6111, 0o2010} {
		list = append(list, rightsOf(m))
	}
	return list
}

func rightsOf(m nfs3.Mode) series {
	return series{fmt.Sprintf("rights/mode %04o", m), func(s *scene) {
		f, d := s.file(s.top, "f", 0o600), s.directory(s.top, "d")
		s.file(d, "inner", 0o644)
		s.set(d, setMode(m))
		s.set(f, setMode(m))
		for _, u := range everyone() {
			by := " by " + u.name
			s.ask("ACCESS of the file"+by, s.access(u, f))
			s.ask("READ"+by, s.read(u, f, 0, 10))
			s.ask("COMMIT"+by, s.commit(u, f, 0, 0))
			s.ask("ACCESS of the directory"+by, s.access(u, d))
			s.ask("LOOKUP"+by, s.lookup(u, d, "inner"))
			s.ask("LOOKUP of a name that is not there"+by, s.lookup(u, d, "absent"))
			s.ask("LOOKUP of .."+by, s.lookup(u, d, ".."))
			s.ask("READDIR"+by, s.readdir(u, d))
			s.ask("READDIRPLUS"+by, s.plus(u, d))
		}
	}}
}

// chmods asks for the mode that objects have after each mode was set, and made with it.
func chmods() []series {
	var list []series
	for m := range nfs3.Mode(0o10000) {
		if (m>>9+m>>6+m>>3+m)%16 != 0 {
			continue
		}
		list = append(list, series{fmt.Sprintf("chmod/mode %04o", m), func(s *scene) {
			f, d := s.file(s.top, "f", 0o600), s.directory(s.top, "d")
			for _, u := range []*user{owner, outsider, other, root, squashed} {
				s.ask("SETATTR of a file by "+u.name, s.setattr(u, f, setMode(m))+"; "+s.attr(f))
				s.ask("SETATTR of a directory by "+u.name, s.setattr(u, d, setMode(m))+"; "+s.attr(d))
				s.set(f, setMode(0o600))
				s.set(d, setMode(0o700))
			}
			for _, bits := range []nfs3.Mode{0o777, 0o2777} {
				at := fmt.Sprintf("in%o", bits)
				in := s.make(s.top, at, nfs3.FileTypeDir, 1000, 1000, bits)
				for i, u := range []*user{owner, other, root, squashed} {
					name, where := fmt.Sprint("f", i), fmt.Sprintf(" in a directory of mode %04o by %s", bits, u.name)
					s.ask("CREATE"+where, s.create(u, in, name, nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: setMode(m)}))
					s.ask("MKDIR"+where, s.mkdir(u, in, name+"d", setMode(m)))
					s.ask("MKNOD"+where, s.mknod(u, in, name+"n", nfs3.FileTypeFifo, setMode(m)))
				}
			}
		}})
	}
	return list
}

// setIDs asks which changes of a file take the set-user-ID and set-group-ID bits from it.
func setIDs() []series {
	type change struct {
		name string
		call func(s *scene, u *user, f object) string
	}
	ids := func(uid, gid int64) nfs3.SetAttr {
		var a nfs3.SetAttr
		if uid >= 0 {
			a.UID = nfs3.SetUID{SetIt: true, UID: nfs3.UID(uid)}
		}
		if gid >= 0 {
			a.GID = nfs3.SetGID{SetIt: true, GID: nfs3.GID(gid)}
		}
		return a
	}
	withMode := ids(1000, 1000)
	withMode.Mode = setMode(0o6755).Mode
	set := func(name string, a nfs3.SetAttr) change {
		return change{"SETATTR of " + name, func(s *scene, u *user, f object) string { return s.setattr(u, f, a) }}
	}
	changes := []change{
		{"WRITE", func(s *scene, u *user, f object) string {
			return s.put(u, f, 0, []byte("x"), nfs3.StableHowFileSync)
		}},
		{"WRITE of nothing", func(s *scene, u *user, f object) string { return s.put(u, f, 0, nil, nfs3.StableHowFileSync) }},
		set("a smaller size", setSize(1)), set("the same size", setSize(4)), set("a larger size", setSize(9)),
		{"CREATE with size 0", func(s *scene, u *user, f object) string {
			return s.create(u, s.top, "f", nfs3.CreateHow{ObjAttributes: setSize(0)})
		}},
		{"CREATE without a size", func(s *scene, u *user, f object) string {
			return s.create(u, s.top, "f", nfs3.CreateHow{ObjAttributes: setMode(0o640)})
		}},
		set("the same uid", ids(1000, -1)), set("the same gid", ids(-1, 1000)), set("both ids", ids(1000, 1000)),
		set("another gid", ids(-1, 7)), set("another uid", ids(2000, -1)), set("the same ids and a mode", withMode),
		set("no attributes", nfs3.SetAttr{}),
		{"COMMIT", func(s *scene, u *user, f object) string { return s.commit(u, f, 0, 0) }},
	}
	var list []series
	for _, m := range []nfs3.Mode{0o6777, 0o4755, 0o2755, 0o2745, 0o6711, 0o6666, 0o2666, 0o7776, 0o6700, 0o2070, 0o4007} {
		for _, c := range changes {
			list = append(list, series{fmt.Sprintf("set-id/mode %04o/%s", m, c.name), func(s *scene) {
				f := s.file(s.top, "f", m)
				for i, u := range everyone() {
					if i > 0 {
						s.write(f, 0, []byte("data"))
						s.set(f, setSize(4))
						s.set(f, attrs(1000, 1000, 0))
						s.set(f, setMode(m))
					}
					s.ask("by "+u.name, c.call(s, u, f)+"; "+s.attr(f))
				}
			}})
		}
	}
	return list
}
