package oracle

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// offsets are the edges of offsets and sizes.
var offsets = []uint64{
	0, 1, 3, 4, 5, 511, 4095, 4096, 4097, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1<<40 + 3, 1<<43 - 1, 1 << 44,
	1<<62 + 1, math.MaxInt64 - 4096, math.MaxInt64 - 4, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 4, math.MaxUint64,
}

// extents asks for data at the edges of offsets, counts and sizes.
func extents() []series {
	var list []series
	for _, at := range offsets {
		list = append(list, series{fmt.Sprintf("extent/%#x", at), func(s *scene) {
			f := s.file(s.top, "f", 0o644)
			for _, n := range []uint32{0, 1, 4, 4096, 1 << 16} {
				s.ask(fmt.Sprintf("READ of %d", n), s.read(owner, f, at, n))
			}
			s.ask("COMMIT from", s.commit(owner, f, at, 0))
			s.ask("COMMIT of a byte", s.commit(owner, f, at, 1))
			s.ask("WRITE of nothing", s.put(owner, f, at, nil, nfs3.StableHowFileSync)+"; "+s.attr(f))
			s.ask("WRITE", s.put(owner, f, at, []byte("edge"), nfs3.StableHowFileSync)+"; "+s.attr(f))
			s.ask("READ again", s.read(owner, f, at, 10))
			s.ask("READ before it", s.read(owner, f, at-min(at, 3), 5))
			s.set(f, setSize(4))
			s.ask("SETATTR of the size", s.setattr(owner, f, setSize(at))+"; "+s.attr(f))
			s.ask("READ of the start", s.read(owner, f, 0, 6))
			s.ask("READ of the end", s.read(owner, f, at-min(at, 2), 6))
			s.ask("CREATE with the size", s.create(owner, s.top, "f", nfs3.CreateHow{ObjAttributes: setSize(at)}))
			s.ask("CREATE of a file with the size", s.create(owner, s.top, "new", nfs3.CreateHow{ObjAttributes: setSize(at)}))
		}})
	}
	return append(list, series{"extent/forms", func(s *scene) {
		f := s.file(s.top, "f", 0o644)
		for _, how := range []nfs3.StableHow{0, 1, 2} {
			s.ask(fmt.Sprintf("WRITE %d", how), s.put(owner, f, 4, []byte("more"), how))
		}
		res, err := s.clients[owner].Write(s.ctx, &nfs3.WriteArgs{File: f.plain, Count: 3, Data: []byte("data")})
		s.ask("WRITE with a count below the data's", failure(res, err)+"; "+s.attr(f))
		res, err = s.clients[owner].Write(s.ctx, &nfs3.WriteArgs{File: f.plain, Count: 5, Data: []byte("data")})
		s.ask("WRITE with a count above the data's", failure(res, err)+"; "+s.attr(f))
		s.ask("READ of 2 GB", s.read(owner, f, 0, 1<<31))
		s.ask("READ of all", s.read(owner, f, 0, math.MaxUint32))
		s.ask("WRITE over the end", s.put(owner, f, 6, []byte(strings.Repeat("x", 9000)), 2)+"; "+s.attr(f))
	}})
}

// owners asks for the users that may set ids, alone and with other attributes.
func owners() []series {
	ids := []int64{-1, 0, 7, 9, 1000, 2000, 3000, 65534, 1<<32 - 2, 1<<32 - 1}
	kindsOf := []nfs3.FileType{nfs3.FileTypeReg, nfs3.FileTypeDir, nfs3.FileTypeLnk, nfs3.FileTypeFifo}
	var list []series
	for _, uid := range ids {
		for _, gid := range ids {
			if uid >= 0 && gid >= 0 && uid != gid && uid != 1000 && gid != 1000 {
				continue
			}
			list = append(list, series{fmt.Sprintf("owner/uid %d gid %d", uid, gid), func(s *scene) {
				var a nfs3.SetAttr
				if uid >= 0 {
					a.UID = nfs3.SetUID{SetIt: true, UID: nfs3.UID(uid)}
				}
				if gid >= 0 {
					a.GID = nfs3.SetGID{SetIt: true, GID: nfs3.GID(gid)}
				}
				for _, kind := range kindsOf {
					o := s.make(s.top, kindNames[kind], kind, 1000, 1000, 0o755)
					for _, u := range everyone() {
						s.ask(kindNames[kind]+" by "+u.name, s.setattr(u, o, a)+"; "+s.attr(o))
						s.set(o, nfs3.SetAttr{UID: nfs3.SetUID{SetIt: true, UID: 1000}, GID: nfs3.SetGID{SetIt: true, GID: 1000}})
					}
				}
				a.Size, a.Mode = setSize(3).Size, setMode(0o6711).Mode
				in := s.make(s.top, "in", nfs3.FileTypeDir, 1000, 9, 0o777)
				for i, u := range everyone() {
					n := fmt.Sprint("new", i)
					s.ask("CREATE by "+u.name, s.create(u, in, n, nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: a}))
					s.ask("MKDIR by "+u.name, s.mkdir(u, in, n+"d", a))
					s.ask("SYMLINK by "+u.name, s.symlink(u, in, n+"l", "to", a))
					s.ask("MKNOD by "+u.name, s.mknod(u, in, n+"n", nfs3.FileTypeSock, a))
				}
			}})
		}
	}
	return list
}

// mapped asks for the rights of users that servers map to others, with objects of the users that
// they may become, and for the owners of new objects.
func mapped() []series {
	var list []series
	for _, id := range []uint32{0, 1000, 65534} {
		list = append(list, series{fmt.Sprintf("mapped/objects of %d", id), func(s *scene) {
			for _, class := range []nfs3.Mode{0o600, 0o060} {
				f := s.make(s.top, fmt.Sprintf("f%o", class), nfs3.FileTypeReg, id, id, class)
				d := s.make(s.top, fmt.Sprintf("d%o", class), nfs3.FileTypeDir, id, id, class|class/6)
				for _, u := range strange() {
					by := fmt.Sprintf(" of mode %o by %s", class, u.name)
					s.ask("ACCESS of a file"+by, s.access(u, f))
					s.ask("READ"+by, s.read(u, f, 0, 10))
					s.ask("SETATTR"+by, s.setattr(u, f, setMode(class))+"; "+s.attr(f))
					s.ask("ACCESS of a directory"+by, s.access(u, d))
				}
			}
			for i, bits := range []nfs3.Mode{0o777, 0o2777} {
				in := s.make(s.top, fmt.Sprint("in", i), nfs3.FileTypeDir, id, id, bits)
				for j, u := range strange() {
					n, where := fmt.Sprint("new", j), fmt.Sprintf(" in a directory of mode %04o by %s", bits, u.name)
					s.ask("CREATE"+where, s.create(u, in, n, nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: setMode(0o4711)}))
					s.ask("MKDIR"+where, s.mkdir(u, in, n+"d", setMode(0o711)))
					s.ask("SYMLINK"+where, s.symlink(u, in, n+"l", "to", nfs3.SetAttr{}))
					s.ask("MKNOD"+where, s.mknod(u, in, n+"n", nfs3.FileTypeFifo, setMode(0o640)))
				}
			}
		}})
	}
	return list
}

// creates asks for each way of CREATE about each kind of object that has the name already.
func creates() []series {
	hows := map[string]nfs3.CreateHow{
		"UNCHECKED":                        {},
		"UNCHECKED with a mode":            {ObjAttributes: setMode(0o640)},
		"UNCHECKED with size 0":            {ObjAttributes: setSize(0)},
		"UNCHECKED with size 2":            {ObjAttributes: setSize(2)},
		"UNCHECKED with a mode and size 0": {ObjAttributes: nfs3.SetAttr{Mode: setMode(0o640).Mode, Size: setSize(0).Size}},
		"GUARDED":                          {Mode: nfs3.CreateModeGuarded, ObjAttributes: setMode(0o640)},
		"EXCLUSIVE":                        {Mode: nfs3.CreateModeExclusive, Verf: nfs3.CreateVerf{1, 2, 3, 4, 5, 6, 7, 8}},
	}
	var list []series
	for _, kind := range append([]nfs3.FileType{0}, kinds...) {
		for _, mode := range []nfs3.Mode{0o644, 0o000, 0o666} {
			list = append(list, series{fmt.Sprintf("create/%s of mode %04o", nameOf(kind), mode), func(s *scene) {
				for i, u := range []*user{owner, other, root} {
					for j, how := range sortedKeys(hows) {
						n := fmt.Sprint("n", i, j)
						switch kind {
						case 0:
						case nfs3.FileTypeReg:
							s.file(s.top, n, mode)
						default:
							s.make(s.top, n, kind, 1000, 1000, mode)
						}
						s.ask(how+" by "+u.name, s.create(u, s.top, n, hows[how]))
						s.ask(how+" again by "+u.name, s.create(u, s.top, n, hows[how]))
					}
				}
			}})
		}
	}
	verf := func(text string) nfs3.CreateHow {
		return nfs3.CreateHow{Mode: nfs3.CreateModeExclusive, Verf: nfs3.CreateVerf([]byte(text))}
	}
	return append(list, series{"create/verifiers", func(s *scene) {
		for _, v := range []string{"\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff", "verifier", "\x80\x00\x00\x00\x80\x00\x00\x00", "\x00\x00\x00\x01\x00\x00\x00\x00"} {
			n := fmt.Sprintf("f%x", v)
			s.ask("first "+n, s.create(owner, s.top, n, verf(v)))
			s.ask("same again "+n, s.create(owner, s.top, n, verf(v)))
			s.ask("another verifier "+n, s.create(owner, s.top, n, verf("anothers")))
			res, err := s.clients[root].Lookup(s.ctx, &nfs3.LookupArgs{What: under(s.top.plain, n)})
			s.must(err)
			o := object{plain: res.OK.Object}
			s.ask("WRITE to "+n, s.put(owner, o, 0, []byte("x"), 2))
			s.ask("again after data "+n, s.create(owner, s.top, n, verf(v)))
			s.ask("SETATTR "+n, s.setattr(owner, o, nfs3.SetAttr{
				Mode: setMode(0o644).Mode, Atime: nfs3.SetAtime{SetIt: nfs3.TimeHowSetToServerTime}, Mtime: nfs3.SetMtime{SetIt: nfs3.TimeHowSetToServerTime},
			}))
			s.ask("again after SETATTR "+n, s.create(owner, s.top, n, verf(v)))
			s.ask("by another user "+n, s.create(other, s.top, n, verf(v)))
		}
	}})
}
