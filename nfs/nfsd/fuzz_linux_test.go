package nfsd_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/gen/mount3/mount3rpc"
	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/gen/nfs3/nfs3rpc"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nlm4/nlm4rpc"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// raw is arguments or results as they are on the wire.
type raw []byte

func (r *raw) EncodeXDR(e *xdr.Encoder) error {
	b, err := e.Next(len(*r))
	copy(b, *r)
	return err
}

func (r *raw) DecodeXDR(d *xdr.Decoder) error {
	b, err := d.Next(len(d.Rest()))
	*r = bytes.Clone(b)
	return err
}

func (r *raw) XDRSize() int { return len(*r) }

// An input names a handle by number, because each run has another key: the input has this mark, the
// number, and zeros. The mark is also how true handles begin. A number without a handle stands for
// a forged one.
const (
	fuzzMark   = "nfs\x01"
	fuzzHandle = len(fuzzMark) + 32
)

// numbered returns the placeholder for handle i of a fuzz target's exports.
func numbered(i int) nfs3.Handle {
	h := make([]byte, fuzzHandle)
	copy(h, fuzzMark)
	h[len(fuzzMark)] = byte(i)
	return nfs3.Handle{Data: h}
}

const fuzzSecret = "top secret"

// fuzzed is an export with a file that the callers may not read, and one client for each user.
type fuzzed struct {
	*export
	users   []oncrpc.OpaqueAuth
	handles [][]byte
	carrier oncrpc.Carrier
	objects []string // by which the handles were found
}

func newFuzzed(f *testing.F) *fuzzed {
	e := &fuzzed{export: newExport(f, nfsd.Config{Async: true}), users: []oncrpc.OpaqueAuth{auth(f, 1000, 1000), auth(f, 0, 0), {}}}
	conn := mem.New(e.server.Handler(), nil)
	f.Cleanup(func() { check(f, conn.Close()) })
	e.carrier = conn
	e.fill(f)
	return e
}

// fill makes the objects, and finds their handles.
func (e *fuzzed) fill(t testing.TB) {
	t.Helper()
	list, err := os.ReadDir(e.dir)
	check(t, err)
	for _, entry := range list {
		check(t, os.RemoveAll(filepath.Join(e.dir, entry.Name())))
	}
	at := func(name string) string { return filepath.Join(e.dir, name) }
	check(t, os.Mkdir(at("dir"), 0o777))
	check(t, os.WriteFile(at("file"), []byte("data of a file"), 0o666))
	check(t, os.WriteFile(at("secret"), []byte(fuzzSecret), 0o600))
	check(t, os.Symlink("../outside/canary", at("link")))
	check(t, syscall.Mkfifo(at("pipe"), 0o666))
	check(t, os.WriteFile(at("dir/below"), []byte("data"), 0o640))
	for _, name := range []string{".", "dir", "file"} {
		check(t, os.Chmod(at(name), 0o777))
	}
	c := clientOver(t, e.carrier, e.users[0])
	dir, _ := c.lookup(t, c.root, "dir")
	below, _ := c.lookup(t, dir, "below")
	e.handles = [][]byte{c.root.Data, dir.Data, below.Data}
	e.objects = []string{"dir", "file", "secret", "link", "pipe"}
	for _, name := range e.objects[1:] {
		h, code := c.lookup(t, c.root, name)
		want(t, "LOOKUP", code, nfs3.StatusOK)
		e.handles = append(e.handles, h.Data)
	}
}

// call makes a call with arguments in which handles have numbers, and checks what must hold.
func (e *fuzzed) call(t *testing.T, program oncrpc.Program, proc uint32, user byte, args []byte, results func(uint32) xdr.Value) {
	body := raw(bytes.Clone(args))
	for at := 0; ; at++ {
		i := bytes.Index(body[at:], []byte(fuzzMark))
		if at += i; i < 0 || at+fuzzHandle > len(body) {
			break
		}
		if n := int(body[at+len(fuzzMark)]); n < len(e.handles) {
			copy(body[at:], e.handles[n])
		}
	}
	c := rpc.NewClient(e.carrier, program, &rpc.ClientConfig{Cred: e.users[int(user)%len(e.users)]})
	var res raw
	err := c.Call(context.Background(), proc, &body, &res, nil)
	switch {
	case errors.Is(err, oncrpc.ErrGarbageArgs), errors.Is(err, oncrpc.ErrProcUnavail):
	case err != nil:
		t.Fatalf("procedure %d: %v", proc, err)
	default:
		if v := results(proc); v != nil {
			if err := decode(v, res); err != nil {
				t.Fatalf("procedure %d: the results do not decode: %v", proc, err)
			}
		} else if len(res) != 0 {
			t.Fatalf("procedure %d: %d bytes of results, expected none", proc, len(res))
		}
	}
	if os.Geteuid() == 0 && (bytes.Contains(res, []byte(fuzzSecret)) || bytes.Contains(res, []byte(canary))) {
		t.Fatalf("procedure %d returned what the caller may not read: %q", proc, res)
	}
	e.unharmed(t)
	e.restore(t)
}

// decode decodes a whole value.
func decode(v xdr.Value, b []byte) error {
	d := xdr.NewDecoder(b, nil)
	return errors.Join(v.DecodeXDR(d), d.Done())
}

// restore makes the objects again if one has gone or many have come, after a check of the secret.
func (e *fuzzed) restore(t *testing.T) {
	entries, err := os.ReadDir(e.dir)
	check(t, err)
	text, err := os.ReadFile(filepath.Join(e.dir, "secret"))
	if os.Geteuid() == 0 && err == nil && string(text) != fuzzSecret {
		t.Fatalf("the secret has changed to %q", text)
	}
	whole := len(entries) < 40
	for _, name := range append([]string{"dir/below"}, e.objects...) {
		_, err := os.Lstat(filepath.Join(e.dir, name))
		whole = whole && err == nil
	}
	if below, err := os.ReadDir(filepath.Join(e.dir, "dir")); err != nil || len(below) > 40 || !whole {
		e.fill(t)
	}
}

// fuzz runs a program with seeds: a call of each procedure.
func fuzz(f *testing.F, program oncrpc.Program, seeds map[uint32][]xdr.Value, results func(uint32) xdr.Value) {
	for proc, values := range seeds {
		for _, v := range values {
			b := make([]byte, 0, v.XDRSize())
			enc := xdr.NewEncoder(b)
			check(f, v.EncodeXDR(enc))
			f.Add(proc, byte(proc), enc.Bytes())
		}
	}
	f.Add(uint32(0), byte(0), []byte{})
	f.Add(uint32(99), byte(0), []byte{1, 2, 3, 4})
	e := newFuzzed(f)
	f.Fuzz(func(t *testing.T, proc uint32, user byte, args []byte) {
		if len(args)%4 != 0 || len(args) > 1<<16 {
			return
		}
		e.call(t, program, proc%32, user, args, results)
	})
}

// FuzzNFS calls the procedures of NFS with any arguments. The answer has the form of the results,
// and nothing that the caller may not read; what it may not change stays.
//
//fuzz:floor 300 each execution is a call that the file system serves, and a look at the directory
func FuzzNFS(f *testing.F) {
	root, dir, below, file, link := numbered(0), numbered(1), numbered(2), numbered(3), numbered(5)
	at := func(dir nfs3.Handle, name string) nfs3.DirOpArgs {
		return nfs3.DirOpArgs{Dir: dir, Name: nfs3.Filename(name)}
	}
	set := setMode(0o640)
	both := setOwner(1000)
	both.GID, both.Mode, both.Size = setGroup(1000).GID, setMode(0o6755).Mode, nfs3.SetSize{SetIt: true, Size: 3}
	fuzz(f, nfs3rpc.Program(), map[uint32][]xdr.Value{
		nfs3.ProcGetAttr:     {&nfs3.GetAttrArgs{Object: root}, &nfs3.GetAttrArgs{Object: numbered(4)}},
		nfs3.ProcSetAttr:     {&nfs3.SetAttrArgs{Object: file, NewAttributes: both}, &nfs3.SetAttrArgs{Object: link, NewAttributes: setTimes(7)}},
		nfs3.ProcLookup:      {&nfs3.LookupArgs{What: at(root, "file")}, &nfs3.LookupArgs{What: at(dir, "..")}},
		nfs3.ProcAccess:      {&nfs3.AccessArgs{Object: dir, Access: 0x3f}},
		nfs3.ProcReadLink:    {&nfs3.ReadLinkArgs{SymLink: link}},
		nfs3.ProcRead:        {&nfs3.ReadArgs{File: file, Offset: 3, Count: 8}, &nfs3.ReadArgs{File: numbered(4), Count: 100}},
		nfs3.ProcWrite:       {&nfs3.WriteArgs{File: below, Offset: 2, Count: 3, Stable: 2, Data: []byte("abc")}},
		nfs3.ProcCreate:      {&nfs3.CreateArgs{Where: at(dir, "new"), How: nfs3.CreateHow{Mode: nfs3.CreateModeGuarded, ObjAttributes: both}}, &nfs3.CreateArgs{Where: at(root, "file"), How: nfs3.CreateHow{Mode: nfs3.CreateModeExclusive}}},
		nfs3.ProcMkDir:       {&nfs3.MkDirArgs{Where: at(dir, "sub"), Attributes: set}},
		nfs3.ProcSymLink:     {&nfs3.SymLinkArgs{Where: at(dir, "sym"), SymLink: nfs3.SymLinkData{Path: nfs3.Path("../../outside"), Attributes: both}}},
		nfs3.ProcMkNod:       {&nfs3.MkNodArgs{Where: at(dir, "node"), What: nfs3.MkNodData{Type: nfs3.FileTypeFifo, PipeAttributes: set}}, &nfs3.MkNodArgs{Where: at(dir, "disk"), What: nfs3.MkNodData{Type: nfs3.FileTypeBlk}}},
		nfs3.ProcRemove:      {&nfs3.RemoveArgs{Object: at(root, "file")}},
		nfs3.ProcRmDir:       {&nfs3.RmDirArgs{Object: at(root, "dir")}},
		nfs3.ProcRename:      {&nfs3.RenameArgs{From: at(root, "file"), To: at(dir, "moved")}, &nfs3.RenameArgs{From: at(root, "dir"), To: at(dir, "dir")}},
		nfs3.ProcLink:        {&nfs3.LinkArgs{File: file, Link: at(dir, "hard")}},
		nfs3.ProcReadDir:     {&nfs3.ReadDirArgs{Dir: root, Count: 300}},
		nfs3.ProcReadDirPlus: {&nfs3.ReadDirPlusArgs{Dir: root, DirCount: 300, MaxCount: 4096}},
		nfs3.ProcFSStat:      {&nfs3.FSStatArgs{FSRoot: root}},
		nfs3.ProcFSInfo:      {&nfs3.FSInfoArgs{FSRoot: root}},
		nfs3.ProcPathConf:    {&nfs3.PathConfArgs{Object: file}},
		nfs3.ProcCommit:      {&nfs3.CommitArgs{File: file}},
	}, func(proc uint32) xdr.Value {
		return map[uint32]xdr.Value{
			nfs3.ProcGetAttr: &nfs3.GetAttrRes{}, nfs3.ProcSetAttr: &nfs3.SetAttrRes{}, nfs3.ProcLookup: &nfs3.LookupRes{},
			nfs3.ProcAccess: &nfs3.AccessRes{}, nfs3.ProcReadLink: &nfs3.ReadLinkRes{}, nfs3.ProcRead: &nfs3.ReadRes{},
			nfs3.ProcWrite: &nfs3.WriteRes{}, nfs3.ProcCreate: &nfs3.CreateRes{}, nfs3.ProcMkDir: &nfs3.MkDirRes{},
			nfs3.ProcSymLink: &nfs3.SymLinkRes{}, nfs3.ProcMkNod: &nfs3.MkNodRes{}, nfs3.ProcRemove: &nfs3.RemoveRes{},
			nfs3.ProcRmDir: &nfs3.RmDirRes{}, nfs3.ProcRename: &nfs3.RenameRes{}, nfs3.ProcLink: &nfs3.LinkRes{},
			nfs3.ProcReadDir: &nfs3.ReadDirRes{}, nfs3.ProcReadDirPlus: &nfs3.ReadDirPlusRes{}, nfs3.ProcFSStat: &nfs3.FSStatRes{},
			nfs3.ProcFSInfo: &nfs3.FSInfoRes{}, nfs3.ProcPathConf: &nfs3.PathConfRes{}, nfs3.ProcCommit: &nfs3.CommitRes{},
		}[proc]
	})
}

// FuzzMount calls the procedures of MOUNT with any arguments, as FuzzNFS does.
//
//fuzz:floor 300 each execution is followed by a look at the directory
func FuzzMount(f *testing.F) {
	path := func(s string) xdr.Value { p := mount3.DirPath(s); return &p }
	fuzz(f, mount3rpc.Program(), map[uint32][]xdr.Value{
		mount3.ProcMount:   {path("/export"), path("/export/dir"), path("/export/../outside"), path("//export/./link/canary"), path("/exports"), path("")},
		mount3.ProcUnmount: {path("/export")},
	}, func(proc uint32) xdr.Value {
		return map[uint32]xdr.Value{mount3.ProcMount: &mount3.MountRes{}, mount3.ProcDump: &mount3.Mounts{}, mount3.ProcExport: &mount3.Exports{}}[proc]
	})
}

// FuzzNLM calls the procedures of the lock manager with any arguments, as FuzzNFS does.
//
//fuzz:floor 300 each execution is followed by a look at the directory
func FuzzNLM(f *testing.F) {
	cookie := nlm4.Object{1, 2, 3, 4}
	l := nlm4.Lock{CallerName: []byte("host"), FH: nlm4.Object(numbered(3).Data), Owner: nlm4.Object("1@host"), Len: 1}
	fuzz(f, nlm4rpc.Program(), map[uint32][]xdr.Value{
		nlm4.ProcTest:       {&nlm4.TestArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcLock:       {&nlm4.LockArgs{Cookie: cookie, Lock: l, Block: true}},
		nlm4.ProcCancel:     {&nlm4.CancelArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcUnlock:     {&nlm4.UnlockArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcLockMsg:    {&nlm4.LockArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcTestRes:    {&nlm4.TestRes{Cookie: cookie, Stat: nlm4.TestReply{Stat: nlm4.StatusDenied}}},
		nlm4.ProcGranted:    {&nlm4.TestArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcShare:      {share(cookie, l)},
		nlm4.ProcUnshare:    {share(cookie, l)},
		nlm4.ProcNMLock:     {&nlm4.LockArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcFreeAll:    {&nlm4.Notify{Name: []byte("host"), State: 3}},
		nlm4.ProcLockRes:    {&nlm4.Res{Cookie: cookie}},
		nlm4.ProcTestMsg:    {&nlm4.TestArgs{Cookie: cookie, Lock: l}},
		nlm4.ProcGrantedRes: {&nlm4.Res{Cookie: cookie}},
	}, func(proc uint32) xdr.Value {
		switch proc {
		case nlm4.ProcTest:
			return &nlm4.TestRes{}
		case nlm4.ProcLock, nlm4.ProcCancel, nlm4.ProcUnlock, nlm4.ProcGranted, nlm4.ProcNMLock:
			return &nlm4.Res{}
		case nlm4.ProcShare, nlm4.ProcUnshare:
			return &nlm4.ShareRes{}
		}
		return nil
	})
}
