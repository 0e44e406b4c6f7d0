package nfs3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// attributes are those of the vectors.
func attributes(kind FileType) Attr {
	return Attr{
		Type: kind, Mode: 0o644, Nlink: 1, UID: 1000, GID: 100, Size: 300, Used: 4096,
		FSID: 0x1122334455667788, FileID: 0x77,
		Atime: Time{0x30000001, 1}, Mtime: Time{0x30000002, 2}, Ctime: Time{0x30000003, 3},
	}
}

func handle(s string) Handle { return Handle{Data: []byte(s)} }

func follow(kind FileType) PostOpAttr {
	return PostOpAttr{AttributesFollow: true, Attributes: attributes(kind)}
}

var verf = [8]byte([]byte("verifier"))

// TestArgumentsHaveTheirBytes compares arguments with bytes worked out from RFC 1813 §3.3.
func TestArgumentsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]GetAttrArgs{"getattr-args": {handle("fh-9")}})
	xdrtest.Run(t, all, map[string]SetAttrArgs{"setattr-args": {
		Object: handle("abcde"),
		NewAttributes: SetAttr{
			Mode: SetMode{true, 0o600}, Size: SetSize{true, 1 << 32},
			Atime: SetAtime{SetIt: TimeHowSetToServerTime}, Mtime: SetMtime{TimeHowSetToClientTime, Time{5, 6}},
		},
		Guard: SetAttrGuard{true, Time{7, 8}},
	}})
	xdrtest.Run(t, all, map[string]LookupArgs{"lookup-args": {DirOpArgs{handle("root"), Filename("file.txt")}}})
	xdrtest.Run(t, all, map[string]ReadArgs{"read-args": {handle("fh-9"), 0x100000200, 1 << 20}})
	xdrtest.Run(t, all, map[string]WriteArgs{
		"write-args": {File: handle("fh-9"), Offset: 4096, Count: 7, Stable: StableHowUnstable, Data: []byte("goodbye")},
	})
	xdrtest.Run(t, all, map[string]CreateArgs{
		"create-unchecked": {DirOpArgs{handle("root"), Filename("new")}, CreateHow{ObjAttributes: SetAttr{Mode: SetMode{true, 0o644}}}},
		"create-exclusive": {DirOpArgs{handle("root"), Filename("once")}, CreateHow{Mode: CreateModeExclusive, Verf: CreateVerf([]byte("12345678"))}},
	})
	xdrtest.Run(t, all, map[string]SymLinkArgs{"symlink-args": {
		DirOpArgs{handle("root"), Filename("l")},
		SymLinkData{SetAttr{UID: SetUID{true, 1000}, GID: SetGID{true, 100}}, Path("/a/b/c")},
	}})
	xdrtest.Run(t, all, map[string]MkNodArgs{"mknod-fifo": {DirOpArgs{handle("root"), Filename("pipe")}, MkNodData{Type: FileTypeFifo}}})
	xdrtest.Run(t, all, map[string]CommitArgs{"commit-args": {File: handle("fh-9")}})
}

// TestResultsHaveTheirBytes compares results with bytes worked out from RFC 1813 §3.3.
func TestResultsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]GetAttrRes{
		"getattr-res":   {OK: GetAttrResOK{attributes(FileTypeReg)}},
		"getattr-stale": {Status: StatusStale},
	})
	xdrtest.Run(t, all, map[string]LookupRes{
		"lookup-res":   {OK: LookupResOK{Object: handle("ab"), ObjAttributes: follow(FileTypeReg)}},
		"lookup-noent": {Status: StatusNoent, Fail: LookupResFail{follow(FileTypeDir)}},
	})
	xdrtest.Run(t, all, map[string]ReadLinkRes{"readlink-res": {OK: ReadLinkResOK{Path: Path("../target")}}})
	xdrtest.Run(t, all, map[string]ReadRes{
		"read-res": {OK: ReadResOK{follow(FileTypeReg), 5, true, []byte("hello")}},
		"read-io":  {Status: StatusIO},
	})
	before := PreOpAttr{true, WccAttr{12, Time{0x20000000, 0}, Time{0x20000001, 999999999}}}
	xdrtest.Run(t, all, map[string]WriteRes{
		"write-res": {OK: WriteResOK{WccData{before, follow(FileTypeReg)}, 7, StableHowFileSync, verf}},
	})
	xdrtest.Run(t, all, map[string]CreateRes{"create-res": {OK: CreateResOK{Obj: PostOpHandle{true, handle("new!")}}}})
	xdrtest.Run(t, all, map[string]ReadDirRes{"readdir-res": {OK: ReadDirResOK{
		CookieVerf: CookieVerf{7: 9},
		Reply:      DirList{[]Entry{{2, Filename("."), 1}, {0x1234567890, Filename("data.bin"), 1<<64 - 1}}, true},
	}}})
	xdrtest.Run(t, all, map[string]ReadDirPlusRes{"readdirplus-res": {OK: ReadDirPlusResOK{
		CookieVerf: CookieVerf([]byte("cookies!")),
		Reply: DirListPlus{Entries: []EntryPlus{
			{FileID: 3, Name: Filename("x"), Cookie: 4, NameHandle: PostOpHandle{true, handle("fh-x")}},
		}},
	}}})
	xdrtest.Run(t, all, map[string]FSInfoRes{"fsinfo-res": {OK: FSInfoResOK{
		Rtmax: 1 << 20, Rtpref: 1 << 19, Rtmult: 4096, Wtmax: 1 << 20, Wtpref: 1 << 19, Wtmult: 4096, Dtpref: 1 << 16,
		MaxFileSize: 1<<63 - 1, TimeDelta: Time{0, 1},
		Properties: PropertyLink | PropertySymLink | PropertyHomogeneous | PropertyCanSetTime,
	}}})
	xdrtest.Run(t, all, map[string]CommitRes{"commit-res": {OK: CommitResOK{WccData{After: follow(FileTypeReg)}, verf}}})
}

// Each vector is of a type that a test above decodes.
func TestVectorTypes(t *testing.T) {
	xdrtest.CheckTypes(t, xdrtest.Load(t), "GetAttrArgs", "GetAttrRes", "SetAttrArgs", "LookupArgs", "LookupRes", "ReadLinkRes",
		"ReadArgs", "ReadRes", "WriteArgs", "WriteRes", "CreateArgs", "CreateRes", "SymLinkArgs", "MkNodArgs", "ReadDirRes",
		"ReadDirPlusRes", "FSInfoRes", "CommitArgs", "CommitRes")
}

// TestNumbersAreTheDocuments compares numbers with RFC 1813 §2.2, §2.6 and §3: the first and last
// of each list.
func TestNumbersAreTheDocuments(t *testing.T) {
	for _, n := range []struct{ got, want int64 }{
		{Program, 100003},
		{Version, 3},
		{ProcNull, 0},
		{ProcGetAttr, 1},
		{ProcReadDirPlus, 17},
		{ProcCommit, 21},
		{int64(StatusOK), 0},
		{int64(StatusPerm), 1},
		{int64(StatusJukebox), 10008},
		{int64(FileTypeReg), 1},
		{int64(FileTypeFifo), 7},
		{HandleSize, 64},
		{AccessRead, 1},
		{AccessExecute, 0x20},
		{PropertyLink, 1},
		{PropertyCanSetTime, 0x10},
	} {
		if n.got != n.want {
			t.Errorf("found %d, expected %d", n.got, n.want)
		}
	}
}

// The four eligible items leave the message, and come back to the same value (RFC 8267 §4).
func TestEligibleItemsLeaveTheMessage(t *testing.T) {
	for _, b := range DDPBindings() {
		var in, out xdr.Value
		switch b.Site {
		case SiteWriteArgsData:
			in, out = &WriteArgs{Count: 5, Data: []byte("hello")}, new(WriteArgs)
		case SiteSymLinkDataPath:
			in, out = &SymLinkArgs{SymLink: SymLinkData{Path: Path("hello")}}, new(SymLinkArgs)
		case SiteReadResOKData:
			in, out = &ReadRes{OK: ReadResOK{Count: 5, Data: []byte("hello")}}, new(ReadRes)
		case SiteReadLinkResOKPath:
			in, out = &ReadLinkRes{OK: ReadLinkResOK{Path: Path("hello")}}, new(ReadLinkRes)
		default:
			t.Fatalf("site %s is not of RFC 8267 §4", b.Site)
		}
		e := xdr.NewEncoder(nil)
		e.Reduce(xdr.Reduction{Sites: []xdr.Site{b.Site}}, 0)
		if err := in.EncodeXDR(e); err != nil {
			t.Fatal(err)
		}
		items := e.Items()
		if len(items) != 1 || string(items[0].Data) != "hello" || e.Len()+8 != in.XDRSize() {
			t.Errorf("%s: %d items, %d of %d bytes inline", b.Site, len(items), e.Len(), in.XDRSize())
			continue
		}
		d := xdr.NewDecoder(e.Bytes(), nil)
		d.ReinsertInOrder([]xdr.Site{b.Site}, items)
		if err := out.DecodeXDR(d); err != nil || d.Done() != nil {
			t.Errorf("%s: %v, %v", b.Site, err, d.Done())
		}
		got, want := xdr.NewEncoder(nil), xdr.NewEncoder(nil)
		if in.EncodeXDR(want) != nil || out.EncodeXDR(got) != nil || string(got.Bytes()) != string(want.Bytes()) {
			t.Errorf("%s: found % x, expected % x", b.Site, got.Bytes(), want.Bytes())
		}
	}
}
