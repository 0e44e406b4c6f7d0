package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// The calls of a user, with the answer as text.

func (s *scene) setattr(u *user, o object, a nfs3.SetAttr) string {
	res, err := s.clients[u].SetAttr(s.ctx, &nfs3.SetAttrArgs{Object: o.of(u), NewAttributes: a})
	if err != nil {
		return text(0, err)
	}
	return res.Status.String()
}

func (s *scene) access(u *user, o object) string {
	res, err := s.clients[u].Access(s.ctx, &nfs3.AccessArgs{Object: o.of(u), Access: 0x3f})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return fmt.Sprintf("%#x", res.OK.Access)
}

func (s *scene) read(u *user, o object, offset uint64, count uint32) string {
	res, err := s.clients[u].Read(s.ctx, &nfs3.ReadArgs{File: o.of(u), Offset: nfs3.Offset(offset), Count: nfs3.Count(count)})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	if int(res.OK.Count) != len(res.OK.Data) {
		return fmt.Sprintf("a count of %d with %d bytes", res.OK.Count, len(res.OK.Data))
	}
	data := fmt.Sprintf("%q", res.OK.Data)
	if len(data) > 64 {
		data = data[:64] + "..."
	}
	return fmt.Sprintf("%d bytes %s, eof %v", res.OK.Count, data, res.OK.EOF)
}

func (s *scene) put(u *user, o object, offset uint64, data []byte, how nfs3.StableHow) string {
	res, err := s.clients[u].Write(s.ctx, &nfs3.WriteArgs{File: o.of(u), Offset: nfs3.Offset(offset), Count: nfs3.Count(len(data)), Stable: how, Data: data})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	if res.OK.Committed < how {
		return fmt.Sprintf("wrote %d, not as stable as asked", res.OK.Count)
	}
	return fmt.Sprintf("wrote %d", res.OK.Count)
}

func (s *scene) commit(u *user, o object, offset uint64, count uint32) string {
	res, err := s.clients[u].Commit(s.ctx, &nfs3.CommitArgs{File: o.of(u), Offset: nfs3.Offset(offset), Count: nfs3.Count(count)})
	return failure(res, err)
}

func (s *scene) readlink(u *user, o object) string {
	res, err := s.clients[u].ReadLink(s.ctx, &nfs3.ReadLinkArgs{SymLink: o.of(u)})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return fmt.Sprintf("%q", res.OK.Path.String())
}

// lookup answers with the attributes of the object, which are in the reply if there is a handle.
func (s *scene) lookup(u *user, dir object, name string) string {
	res, err := s.clients[u].Lookup(s.ctx, &nfs3.LookupArgs{What: under(dir.of(u), name)})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return s.same(u, res.OK.Object, &res.OK.ObjAttributes)
}

// same checks that the attributes in a reply belong to the handle in it.
func (s *scene) same(u *user, h nfs3.Handle, a *nfs3.PostOpAttr) string {
	now, err := s.clients[u].GetAttr(s.ctx, &nfs3.GetAttrArgs{Object: h})
	switch {
	case err != nil || now.Status != nfs3.StatusOK:
		return "GETATTR of the handle: " + failure(now, err)
	case a.AttributesFollow && a.Attributes != now.OK.ObjAttributes:
		return fmt.Sprintf("attributes %v, but GETATTR of the handle has %v", a.Attributes, now.OK.ObjAttributes)
	}
	return describe(&now.OK.ObjAttributes)
}

func (s *scene) create(u *user, dir object, name string, how nfs3.CreateHow) string {
	res, err := s.clients[u].Create(s.ctx, &nfs3.CreateArgs{Where: under(dir.of(u), name), How: how})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return s.made(u, &res.OK.Obj, &res.OK.ObjAttributes)
}

// made returns the result of a call that makes an object.
func (s *scene) made(u *user, h *nfs3.PostOpHandle, a *nfs3.PostOpAttr) string {
	if !h.HandleFollows {
		return "no handle"
	}
	return s.same(u, h.Handle, a)
}

func (s *scene) mkdir(u *user, dir object, name string, a nfs3.SetAttr) string {
	res, err := s.clients[u].MkDir(s.ctx, &nfs3.MkDirArgs{Where: under(dir.of(u), name), Attributes: a})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return s.made(u, &res.OK.Obj, &res.OK.ObjAttributes)
}

func (s *scene) symlink(u *user, dir object, name, to string, a nfs3.SetAttr) string {
	res, err := s.clients[u].SymLink(s.ctx, &nfs3.SymLinkArgs{Where: under(dir.of(u), name), SymLink: nfs3.SymLinkData{Attributes: a, Path: nfs3.Path(to)}})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return s.made(u, &res.OK.Obj, &res.OK.ObjAttributes)
}

func (s *scene) mknod(u *user, dir object, name string, kind nfs3.FileType, a nfs3.SetAttr) string {
	what := nfs3.MkNodData{Type: kind, PipeAttributes: a, Device: nfs3.DeviceData{DevAttributes: a, Spec: nfs3.SpecData{Specdata1: 240, Specdata2: 3}}}
	res, err := s.clients[u].MkNod(s.ctx, &nfs3.MkNodArgs{Where: under(dir.of(u), name), What: what})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	return s.made(u, &res.OK.Obj, &res.OK.ObjAttributes)
}

func (s *scene) remove(u *user, dir object, name string) string {
	res, err := s.clients[u].Remove(s.ctx, &nfs3.RemoveArgs{Object: under(dir.of(u), name)})
	return failure(res, err)
}

func (s *scene) rmdir(u *user, dir object, name string) string {
	res, err := s.clients[u].RmDir(s.ctx, &nfs3.RmDirArgs{Object: under(dir.of(u), name)})
	return failure(res, err)
}

func (s *scene) rename(u *user, from object, name string, to object, newName string) string {
	res, err := s.clients[u].Rename(s.ctx, &nfs3.RenameArgs{From: under(from.of(u), name), To: under(to.of(u), newName)})
	return failure(res, err)
}

func (s *scene) link(u *user, o, dir object, name string) string {
	res, err := s.clients[u].Link(s.ctx, &nfs3.LinkArgs{File: o.of(u), Link: under(dir.of(u), name)})
	return failure(res, err)
}

// readdir answers with the names, sorted.
func (s *scene) readdir(u *user, dir object) string {
	res, err := s.clients[u].ReadDir(s.ctx, &nfs3.ReadDirArgs{Dir: dir.of(u), Count: 8192})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	var names []string
	for _, e := range res.OK.Reply.Entries {
		names = append(names, fmt.Sprintf("%q", e.Name.String()))
	}
	slices.Sort(names)
	return fmt.Sprintf("%s, eof %v", strings.Join(names, " "), res.OK.Reply.EOF)
}

// plus answers with the names, and says whether their handles follow. An entry's handle and
// attributes must be those that LOOKUP gives the same caller, or absent if LOOKUP refuses.
func (s *scene) plus(u *user, dir object) string {
	c := s.clients[u]
	res, err := c.ReadDirPlus(s.ctx, &nfs3.ReadDirPlusArgs{Dir: dir.of(u), DirCount: 8192, MaxCount: 32768})
	if err != nil || res.Status != nfs3.StatusOK {
		return failure(res, err)
	}
	var list []string
	for _, e := range res.OK.Reply.Entries {
		name := e.Name.String()
		if name == "." || name == ".." {
			continue // a caller has these handles, so that they say nothing about rights
		}
		found, err := c.Lookup(s.ctx, &nfs3.LookupArgs{What: under(dir.of(u), name)})
		s.must(err)
		line := fmt.Sprintf("%q", name)
		if e.NameHandle.HandleFollows {
			line += " with a handle"
			if found.Status != nfs3.StatusOK || !slices.Equal(found.OK.Object.Data, e.NameHandle.Handle.Data) {
				line += ", which LOOKUP does not give: " + found.Status.String()
			}
		}
		if e.NameAttributes.AttributesFollow {
			line += " with attributes"
			if a := found.OK.ObjAttributes; found.Status != nfs3.StatusOK || a.AttributesFollow && a.Attributes != e.NameAttributes.Attributes {
				line += ", which LOOKUP does not give: " + found.Status.String()
			}
			if e.FileID != e.NameAttributes.Attributes.FileID {
				line += ", of another fileid"
			}
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return fmt.Sprintf("%s, eof %v", strings.Join(list, "; "), res.OK.Reply.EOF)
}

// result is a result of a procedure.
type result interface {
	*nfs3.AccessRes | *nfs3.ReadRes | *nfs3.WriteRes | *nfs3.CommitRes | *nfs3.ReadLinkRes | *nfs3.LookupRes |
		*nfs3.GetAttrRes | *nfs3.CreateRes | *nfs3.MkDirRes | *nfs3.SymLinkRes | *nfs3.MkNodRes | *nfs3.RemoveRes |
		*nfs3.RmDirRes | *nfs3.RenameRes | *nfs3.LinkRes | *nfs3.ReadDirRes | *nfs3.ReadDirPlusRes | *nfs3.FSInfoRes |
		*nfs3.FSStatRes | *nfs3.PathConfRes
}

// failure returns the status of a result, or the reason why it is missing.
func failure[R result](res R, err error) string {
	if err != nil {
		return text(0, err)
	}
	var code nfs3.Status
	switch r := any(res).(type) {
	case *nfs3.AccessRes:
		code = r.Status
	case *nfs3.ReadRes:
		code = r.Status
	case *nfs3.WriteRes:
		code = r.Status
	case *nfs3.CommitRes:
		code = r.Status
	case *nfs3.ReadLinkRes:
		code = r.Status
	case *nfs3.LookupRes:
		code = r.Status
	case *nfs3.GetAttrRes:
		code = r.Status
	case *nfs3.CreateRes:
		code = r.Status
	case *nfs3.MkDirRes:
		code = r.Status
	case *nfs3.SymLinkRes:
		code = r.Status
	case *nfs3.MkNodRes:
		code = r.Status
	case *nfs3.RemoveRes:
		code = r.Status
	case *nfs3.RmDirRes:
		code = r.Status
	case *nfs3.RenameRes:
		code = r.Status
	case *nfs3.LinkRes:
		code = r.Status
	case *nfs3.ReadDirRes:
		code = r.Status
	case *nfs3.ReadDirPlusRes:
		code = r.Status
	case *nfs3.FSInfoRes:
		code = r.Status
	case *nfs3.FSStatRes:
		code = r.Status
	case *nfs3.PathConfRes:
		code = r.Status
	}
	return code.String()
}
