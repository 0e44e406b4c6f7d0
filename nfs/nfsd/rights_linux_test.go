package nfsd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// user is a caller, with its place in the mode bits of a file that 1000:1000 owns.
type user struct {
	name  string
	cred  oncrpc.OpaqueAuth
	shift int // of the mode bits that count; -1: all are allowed
}

// usersOf returns callers of each kind for an export that maps root, or root for one that does not.
func usersOf(t *testing.T, allowRoot bool) []user {
	t.Helper()
	if allowRoot {
		return []user{{"root", auth(t, 0, 0), -1}}
	}
	return []user{
		{"owner", auth(t, 1000, 1000), 6},
		{"owner outside the group", auth(t, 1000, 2000), 6},
		{"group", auth(t, 2000, 1000), 3},
		{"supplementary group", auth(t, 2000, 2000, 5, 1000, 6), 3},
		{"other", auth(t, 3000, 3000), 0},
		{"AUTH_NONE", oncrpc.OpaqueAuth{}, 0},
		{"root, mapped", auth(t, 0, 0, 0), 0},
	}
}

// rights returns the bits of a mode that count for a user.
func (u user) rights(mode uint32) uint32 {
	if u.shift < 0 {
		return 7
	}
	return mode >> u.shift & 7
}

// directoryModes covers every value of the owner, group and other bits, alone and combined.
func directoryModes() []uint32 {
	var modes []uint32
	for bits := range uint32(8) {
		modes = append(modes, bits<<6|(7-bits)<<3|(bits+3)%8)
		if !testing.Short() {
			modes = append(modes, bits<<6, bits<<3, bits, bits<<6|bits<<3|bits)
		}
	}
	return modes
}

// scene is a fresh directory of 1000:1000 with a mode, a file f and a directory d, and a neighbour
// that all may change, with a file g that all may link, as a caller finds them.
type scene struct {
	*client
	t             *testing.T
	dir, aside, g nfs3.Handle
}

func (e *export) directory(t *testing.T, c *client, mode uint32) scene {
	t.Helper()
	for _, name := range []string{"dir", "aside"} {
		at := filepath.Join(e.dir, name)
		check(t, os.RemoveAll(at))
		check(t, os.Mkdir(at, 0o777))
	}
	at := filepath.Join(e.dir, "dir")
	for _, name := range []string{"dir/f", "aside/g"} {
		file := filepath.Join(e.dir, name)
		check(t, os.WriteFile(file, []byte("data"), 0o666))
		check(t, os.Chmod(file, 0o666))
	}
	check(t, os.Mkdir(filepath.Join(at, "d"), 0o777))
	check(t, os.Chmod(filepath.Join(e.dir, "aside"), 0o777))
	s := scene{client: c, t: t}
	s.dir, _ = c.lookup(t, c.root, "dir")
	s.aside, _ = c.lookup(t, c.root, "aside")
	s.g, _ = c.lookup(t, s.aside, "g")
	check(t, os.Chown(at, 1000, 1000))
	check(t, os.Chmod(at, os.FileMode(mode)))
	return s
}

// The rights of a directory that a procedure needs, and the bits of ACCESS that promise it.
type operation struct {
	name   string
	needs  uint32 // of the mode: 4, 2, 1
	access uint32
	call   func(s scene) nfs3.Status
}

const changes = nfs3.AccessModify | nfs3.AccessExtend | nfs3.AccessDelete

var operations = []operation{
	{"LOOKUP", 1, nfs3.AccessLookup, func(s scene) nfs3.Status {
		_, code := s.lookup(s.t, s.dir, "f")
		return code
	}},
	{"LOOKUP of .", 1, nfs3.AccessLookup, func(s scene) nfs3.Status {
		_, code := s.lookup(s.t, s.dir, ".")
		return code
	}},
	{"LOOKUP of ..", 1, nfs3.AccessLookup, func(s scene) nfs3.Status {
		_, code := s.lookup(s.t, s.dir, "..")
		return code
	}},
	{"READDIR", 4, nfs3.AccessRead, func(s scene) nfs3.Status {
		res, err := s.ReadDir(s.t.Context(), &nfs3.ReadDirArgs{Dir: s.dir, Count: 8192})
		check(s.t, err)
		return res.Status
	}},
	{"READDIRPLUS", 4, nfs3.AccessRead, func(s scene) nfs3.Status {
		res, err := s.ReadDirPlus(s.t.Context(), &nfs3.ReadDirPlusArgs{Dir: s.dir, DirCount: 8192, MaxCount: 8192})
		check(s.t, err)
		return res.Status
	}},
	{"CREATE", 3, changes, func(s scene) nfs3.Status {
		_, code := s.create(s.t, s.dir, "new")
		return code
	}},
	{"CREATE of a file that exists", 1, nfs3.AccessLookup, func(s scene) nfs3.Status {
		res, err := s.Create(s.t.Context(), &nfs3.CreateArgs{Where: s.at(s.dir, "f")})
		check(s.t, err)
		return res.Status
	}},
	{"CREATE that empties a file", 1, nfs3.AccessLookup, func(s scene) nfs3.Status {
		res, err := s.Create(s.t.Context(), &nfs3.CreateArgs{Where: s.at(s.dir, "f"), How: nfs3.CreateHow{
			ObjAttributes: nfs3.SetAttr{Size: nfs3.SetSize{SetIt: true}},
		}})
		check(s.t, err)
		return res.Status
	}},
	{"MKDIR", 3, changes, func(s scene) nfs3.Status {
		_, code := s.mkdir(s.t, s.dir, "new")
		return code
	}},
	{"SYMLINK", 3, changes, func(s scene) nfs3.Status {
		_, code := s.symlink(s.t, s.dir, "new", "to")
		return code
	}},
	{"MKNOD", 3, changes, func(s scene) nfs3.Status {
		res, err := s.MkNod(s.t.Context(), &nfs3.MkNodArgs{Where: s.at(s.dir, "new"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo}})
		check(s.t, err)
		return res.Status
	}},
	{"LINK", 3, changes, func(s scene) nfs3.Status {
		res, err := s.Link(s.t.Context(), &nfs3.LinkArgs{File: s.g, Link: s.at(s.dir, "new")})
		check(s.t, err)
		return res.Status
	}},
	{"RENAME within", 3, changes, func(s scene) nfs3.Status {
		return s.rename(s.t, s.dir, "f", s.dir, "new")
	}},
	{"RENAME out", 3, changes, func(s scene) nfs3.Status {
		return s.rename(s.t, s.dir, "f", s.aside, "new")
	}},
	{"RENAME in", 3, changes, func(s scene) nfs3.Status {
		return s.rename(s.t, s.aside, "g", s.dir, "new")
	}},
	{"RENAME onto a file", 3, changes, func(s scene) nfs3.Status {
		return s.rename(s.t, s.aside, "g", s.dir, "f")
	}},
	{"REMOVE", 3, changes, func(s scene) nfs3.Status {
		return s.remove(s.t, s.dir, "f")
	}},
	{"RMDIR", 3, changes, func(s scene) nfs3.Status {
		return s.rmdir(s.t, s.dir, "d")
	}},
}

// Each procedure does what the mode bits of a directory allow, and ACCESS promises that and no more
// (RFC 1813 §3.3.4): adding and removing names needs search permission, too.
func TestDirectoryRights(t *testing.T) {
	needRoot(t)
	for _, allowRoot := range []bool{false, true} {
		e := newExport(t, nfsd.Config{Async: true, AllowRoot: allowRoot})
		for _, u := range usersOf(t, allowRoot) {
			c := e.client(t, u.cred)
			for _, mode := range directoryModes() {
				what := fmt.Sprintf("%s, mode %04o", u.name, mode)
				s := e.directory(t, c, mode)
				var promised uint32
				for _, op := range operations {
					code := nfs3.StatusAcces
					if u.rights(mode)&op.needs == op.needs {
						code = nfs3.StatusOK
						promised |= op.access
					}
					want(t, what+": "+op.name, op.call(s), code)
					if op.needs == 3 && code == nfs3.StatusOK {
						s = e.directory(t, c, mode)
					}
				}
				res, err := c.Access(t.Context(), &nfs3.AccessArgs{Object: s.dir, Access: 0x3f})
				check(t, err)
				if want(t, what+": ACCESS", res.Status, nfs3.StatusOK); res.OK.Access != promised {
					t.Errorf("%s: ACCESS %#x, expected %#x", what, res.OK.Access, promised)
				}
				// Only the bits of the request.
				res, err = c.Access(t.Context(), &nfs3.AccessArgs{Object: s.dir, Access: nfs3.AccessExtend})
				check(t, err)
				if res.OK.Access != promised&nfs3.AccessExtend {
					t.Errorf("%s: ACCESS of EXTEND: %#x", what, res.OK.Access)
				}
			}
		}
	}
}

// The handle and the attributes of a name come from LOOKUP and from READDIRPLUS, or from neither:
// both need search permission. READDIRPLUS then lists the name alone, as READDIR does.
func TestListingNeedsSearchPermission(t *testing.T) {
	needRoot(t)
	for _, allowRoot := range []bool{false, true} {
		e := newExport(t, nfsd.Config{Async: true, AllowRoot: allowRoot})
		for _, u := range usersOf(t, allowRoot) {
			c := e.client(t, u.cred)
			for _, mode := range directoryModes() {
				if u.rights(mode)&4 == 0 {
					continue // no listing: TestDirectoryRights
				}
				dir := e.directory(t, c, mode).dir
				res, err := c.ReadDirPlus(t.Context(), &nfs3.ReadDirPlusArgs{Dir: dir, DirCount: 8192, MaxCount: 8192})
				check(t, err)
				listed := map[string]bool{}
				for _, entry := range res.OK.Reply.Entries {
					name := string(entry.Name)
					listed[name] = true
					found, err := c.Lookup(t.Context(), &nfs3.LookupArgs{What: c.at(dir, name)})
					check(t, err)
					byLookup := found.Status == nfs3.StatusOK
					what := fmt.Sprintf("%s, mode %04o, %s", u.name, mode, name)
					if byLookup != (u.rights(mode)&1 != 0) {
						t.Errorf("%s: LOOKUP: %v", what, found.Status)
					}
					if name == "." || name == ".." {
						continue // the caller has that handle; none is given
					}
					if entry.NameHandle.HandleFollows != byLookup || entry.NameAttributes.AttributesFollow != byLookup {
						t.Errorf("%s: handle %v, attributes %v by READDIRPLUS; LOOKUP: %v",
							what, entry.NameHandle.HandleFollows, entry.NameAttributes.AttributesFollow, found.Status)
					}
					if byLookup && (string(entry.NameHandle.Handle.Data) != string(found.OK.Object.Data) || entry.NameAttributes != found.OK.ObjAttributes) {
						t.Errorf("%s: READDIRPLUS and LOOKUP differ", what)
					}
				}
				if len(listed) != 4 || !listed["f"] || !listed["d"] {
					t.Errorf("%s, mode %04o: READDIRPLUS lists %v", u.name, mode, listed)
				}
			}
		}
	}
}

// Without search permission no answer says whether a name exists.
func TestNamesAreHiddenWithoutSearchPermission(t *testing.T) {
	needRoot(t)
	e := newExport(t, nfsd.Config{Async: true})
	c := e.client(t, auth(t, 3000, 3000))
	for _, mode := range []uint32{0, 0o2, 0o4, 0o6, 0o1000, 0o1002, 0o1006} {
		s := e.directory(t, c, mode&0o777)
		if mode&0o1000 != 0 {
			check(t, os.Chmod(filepath.Join(e.dir, "dir"), os.FileMode(mode&0o777)|os.ModeSticky))
		}
		for _, name := range []string{"f", "d", "none"} {
			what := fmt.Sprintf("mode %04o, %s: ", mode, name)
			_, code := c.lookup(t, s.dir, name)
			want(t, what+"LOOKUP", code, nfs3.StatusAcces)
			want(t, what+"REMOVE", c.remove(t, s.dir, name), nfs3.StatusAcces)
			want(t, what+"RMDIR", c.rmdir(t, s.dir, name), nfs3.StatusAcces)
			want(t, what+"RENAME from", c.rename(t, s.dir, name, s.aside, "new"), nfs3.StatusAcces)
			want(t, what+"RENAME to", c.rename(t, s.aside, "g", s.dir, name), nfs3.StatusAcces)
			_, code = c.create(t, s.dir, name)
			want(t, what+"CREATE", code, nfs3.StatusAcces)
			res, err := c.Create(t.Context(), &nfs3.CreateArgs{Where: c.at(s.dir, name), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}})
			check(t, err)
			want(t, what+"exclusive CREATE", res.Status, nfs3.StatusAcces)
			_, code = c.mkdir(t, s.dir, name)
			want(t, what+"MKDIR", code, nfs3.StatusAcces)
			_, code = c.symlink(t, s.dir, name, "to")
			want(t, what+"SYMLINK", code, nfs3.StatusAcces)
			link, err := c.Link(t.Context(), &nfs3.LinkArgs{File: s.g, Link: c.at(s.dir, name)})
			check(t, err)
			want(t, what+"LINK", link.Status, nfs3.StatusAcces)
		}
	}
}
