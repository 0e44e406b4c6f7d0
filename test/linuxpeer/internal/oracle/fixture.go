package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// kinds are the types of objects.
var kinds = []nfs3.FileType{
	nfs3.FileTypeReg, nfs3.FileTypeDir, nfs3.FileTypeLnk, nfs3.FileTypeFifo, nfs3.FileTypeSock, nfs3.FileTypeChr, nfs3.FileTypeBlk,
}

var kindNames = map[nfs3.FileType]string{
	nfs3.FileTypeReg: "file", nfs3.FileTypeDir: "directory", nfs3.FileTypeLnk: "link", nfs3.FileTypeFifo: "fifo",
	nfs3.FileTypeSock: "socket", nfs3.FileTypeChr: "character device", nfs3.FileTypeBlk: "block device",
}

// attrs is a part of sattr3.
func attrs(uid, gid uint32, mode nfs3.Mode) nfs3.SetAttr {
	return nfs3.SetAttr{
		UID: nfs3.SetUID{SetIt: true, UID: nfs3.UID(uid)}, GID: nfs3.SetGID{SetIt: true, GID: nfs3.GID(gid)},
		Mode: nfs3.SetMode{SetIt: true, Mode: mode},
	}
}

func setMode(mode nfs3.Mode) nfs3.SetAttr {
	return nfs3.SetAttr{Mode: nfs3.SetMode{SetIt: true, Mode: mode}}
}

func setSize(size uint64) nfs3.SetAttr {
	return nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true, Size: nfs3.Size(size)}}
}

// make makes an object as root. For other users' questions it then gets its attributes by set.
func (s *scene) make(dir object, name string, kind nfs3.FileType, uid, gid uint32, mode nfs3.Mode) object {
	c, where, a := s.clients[root], under(dir.plain, name), attrs(uid, gid, mode)
	var h nfs3.PostOpHandle
	var code nfs3.Status
	var err error
	switch kind {
	case nfs3.FileTypeReg:
		var res *nfs3.CreateRes
		if res, err = c.Create(s.ctx, &nfs3.CreateArgs{Where: where, How: nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: a}}); err == nil {
			h, code = res.OK.Obj, res.Status
		}
	case nfs3.FileTypeDir:
		var res *nfs3.MkDirRes
		if res, err = c.MkDir(s.ctx, &nfs3.MkDirArgs{Where: where, Attributes: a}); err == nil {
			h, code = res.OK.Obj, res.Status
		}
	case nfs3.FileTypeLnk:
		a.Mode = nfs3.SetMode{}
		var res *nfs3.SymLinkRes
		if res, err = c.SymLink(s.ctx, &nfs3.SymLinkArgs{Where: where, SymLink: nfs3.SymLinkData{Attributes: a, Path: nfs3.Path("to/it")}}); err == nil {
			h, code = res.OK.Obj, res.Status
		}
	default:
		what := nfs3.MkNodData{Type: kind, PipeAttributes: a, Device: nfs3.DeviceData{DevAttributes: a, Spec: nfs3.SpecData{Specdata1: 240, Specdata2: 3}}}
		var res *nfs3.MkNodRes
		if res, err = c.MkNod(s.ctx, &nfs3.MkNodArgs{Where: where, What: what}); err == nil {
			h, code = res.OK.Obj, res.Status
		}
	}
	if err == nil && (code != nfs3.StatusOK || !h.HandleFollows) {
		err = fmt.Errorf("a new %s %q: %v, handle %v", kindNames[kind], name, code, h.HandleFollows)
	}
	s.must(err)
	o := s.known(dir, name, h.Handle)
	if mode&0o6000 != 0 && kind != nfs3.FileTypeLnk { // a change of owner clears them
		s.set(o, setMode(mode))
	}
	return o
}

// known returns the object of a name, whose handle in the plain export is known.
func (s *scene) known(dir object, name string, plain nfs3.Handle) object {
	o := object{plain: plain}
	if s.both {
		res, err := s.clients[squashed].Lookup(s.ctx, &nfs3.LookupArgs{What: under(dir.squashed, name)})
		if err == nil && res.Status != nfs3.StatusOK {
			err = fmt.Errorf("LOOKUP of %q by the squashed export: %v", name, res.Status)
		}
		s.must(err)
		o.squashed = res.OK.Object
	}
	return o
}

// file makes a file with data of 1000:1000 as root.
func (s *scene) file(dir object, name string, mode nfs3.Mode) object {
	o := s.make(dir, name, nfs3.FileTypeReg, 1000, 1000, 0o600)
	s.write(o, 0, []byte("data"))
	s.set(o, setMode(mode))
	return o
}

// directory makes a directory of 1000:1000 that everyone may change, until it gets its mode by set.
func (s *scene) directory(dir object, name string) object {
	return s.make(dir, name, nfs3.FileTypeDir, 1000, 1000, 0o777)
}

// write writes data as root.
func (s *scene) write(o object, offset uint64, data []byte) {
	res, err := s.clients[root].Write(s.ctx, &nfs3.WriteArgs{
		File: o.plain, Offset: nfs3.Offset(offset), Count: nfs3.Count(len(data)), Stable: nfs3.StableHowFileSync, Data: data,
	})
	if err == nil && res.Status != nfs3.StatusOK {
		err = fmt.Errorf("WRITE by root: %v", res.Status)
	}
	s.must(err)
}

// set sets attributes as root.
func (s *scene) set(o object, a nfs3.SetAttr) {
	res, err := s.clients[root].SetAttr(s.ctx, &nfs3.SetAttrArgs{Object: o.plain, NewAttributes: a})
	if err == nil && res.Status != nfs3.StatusOK {
		err = fmt.Errorf("SETATTR by root: %v", res.Status)
	}
	s.must(err)
}

// attr returns the attributes of an object, as root sees them.
func (s *scene) attr(o object) string {
	res, err := s.clients[root].GetAttr(s.ctx, &nfs3.GetAttrArgs{Object: o.plain})
	if err != nil || res.Status != nfs3.StatusOK {
		var code nfs3.Status
		if res != nil {
			code = res.Status
		}
		return text(code, err)
	}
	return describe(&res.OK.ObjAttributes)
}

// describe returns the attributes that servers should agree about.
func describe(a *nfs3.Attr) string {
	t := fmt.Sprintf("%s %04o %d:%d", kindNames[a.Type], a.Mode, a.UID, a.GID)
	switch a.Type {
	case nfs3.FileTypeDir: // its size and its links are the file system's
	case nfs3.FileTypeChr, nfs3.FileTypeBlk:
		t += fmt.Sprintf(" links %d, device %d:%d", a.Nlink, a.Rdev.Specdata1, a.Rdev.Specdata2)
	default:
		t += fmt.Sprintf(" links %d, size %d", a.Nlink, a.Size)
	}
	return t
}

// tree returns the objects below a directory, as root sees them.
func (s *scene) tree(dir object) string {
	var list []string
	s.walk(dir.plain, "", &list)
	return strings.Join(list, "; ")
}

func (s *scene) walk(dir nfs3.Handle, path string, list *[]string) {
	for _, e := range s.entries(dir) {
		h, a, at := e.NameHandle.Handle, e.NameAttributes.Attributes, path+fmt.Sprintf("%q", e.Name)
		if !e.NameHandle.HandleFollows || !e.NameAttributes.AttributesFollow {
			res, err := s.clients[root].Lookup(s.ctx, &nfs3.LookupArgs{What: nfs3.DirOpArgs{Dir: dir, Name: e.Name}})
			s.must(err)
			h, a = res.OK.Object, res.OK.ObjAttributes.Attributes
		}
		*list = append(*list, at+" "+describe(&a))
		if a.Type == nfs3.FileTypeDir {
			s.walk(h, at+"/", list)
		}
	}
}

// entries returns the entries of a directory but "." and "..", as root sees them, by name.
func (s *scene) entries(dir nfs3.Handle) []nfs3.EntryPlus {
	args := nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 1 << 15, MaxCount: 1 << 15}
	var all []nfs3.EntryPlus
	for {
		res, err := s.clients[root].ReadDirPlus(s.ctx, &args)
		if err == nil && res.Status != nfs3.StatusOK {
			err = fmt.Errorf("READDIRPLUS by root: %v", res.Status)
		}
		s.must(err)
		list := res.OK.Reply.Entries
		all = append(all, list...)
		if res.OK.Reply.EOF || len(list) == 0 {
			break
		}
		args.Cookie, args.CookieVerf = list[len(list)-1].Cookie, res.OK.CookieVerf
	}
	all = slices.DeleteFunc(all, func(e nfs3.EntryPlus) bool { return e.Name.String() == "." || e.Name.String() == ".." })
	slices.SortFunc(all, func(a, b nfs3.EntryPlus) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return all
}
