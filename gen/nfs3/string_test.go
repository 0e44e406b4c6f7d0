package nfs3

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// TestValuesPrintThemselves prints values of types of NFS version 3.
func TestValuesPrintThemselves(t *testing.T) {
	attr := attributes(FileTypeReg)
	const attrText = "{type: NF3REG, mode: 420, nlink: 1, uid: 1000, gid: 100, size: 300, used: 4096, " +
		"rdev: {specdata1: 0, specdata2: 0}, fsid: 1234605616436508552, fileid: 119, " +
		"atime: {seconds: 805306369, nseconds: 1}, mtime: {seconds: 805306370, nseconds: 2}, ctime: {seconds: 805306371, nseconds: 3}}"
	entries := make([]Entry, 10)
	for i := range entries {
		entries[i] = Entry{FileID: FileID(i), Name: Filename("f"), Cookie: Cookie(i)}
	}
	for _, c := range []struct {
		v    fmt.Stringer
		want string
	}{
		{ReadArgs{handle("fh-9"), 8192, 4096}, "READ3args{file: {data: 4 bytes 66682d39}, offset: 8192, count: 4096}"},
		{
			&ReadRes{OK: ReadResOK{Count: 4096, EOF: true, Data: make([]byte, 4096)}},
			"READ3res{status: NFS3_OK, resok: {file_attributes: {attributes_follow: false}, count: 4096, eof: true, " +
				"data: 4096 bytes 0000000000000000000000000000000000000000000000000000000000000000..}}",
		},
		{
			ReadRes{Status: StatusStale, OK: ReadResOK{Data: []byte("left from before")}},
			"READ3res{status: NFS3ERR_STALE, resfail: {file_attributes: {attributes_follow: false}}}",
		},
		{
			GetAttrRes{Status: 4711, OK: GetAttrResOK{attr}},
			"GETATTR3res{status: nfsstat3(4711)}",
		},
		{attr, "fattr3" + attrText},
		{follow(FileTypeReg), "post_op_attr{attributes_follow: true, attributes: " + attrText + "}"},
		{
			&DirList{Entries: entries[:1], EOF: true},
			`dirlist3{entries: [{fileid: 0, name: "f", cookie: 0}], eof: true}`,
		},
		{
			DirList{Entries: entries},
			`dirlist3{entries: [{fileid: 0, name: "f", cookie: 0}, {fileid: 1, name: "f", cookie: 1}, ` +
				`{fileid: 2, name: "f", cookie: 2}, {fileid: 3, name: "f", cookie: 3}, {fileid: 4, name: "f", cookie: 4}, ` +
				`{fileid: 5, name: "f", cookie: 5}, {fileid: 6, name: "f", cookie: 6}, {fileid: 7, name: "f", cookie: 7}, 2 more], eof: false}`,
		},
		{Filename("the text"), "the text"},
		{(*ReadArgs)(nil), "<nil>"},
	} {
		for _, verb := range []string{"%v", "%+v", "%s"} {
			if got := fmt.Sprintf(verb, c.v); got != c.want {
				t.Errorf("%T:\ngot  %s\nwant %s", c.v, got, c.want)
			}
		}
	}
	if got, want := fmt.Sprint(struct{ Count xdr.Optional[Time] }{xdr.Some(Time{1, 2})}), "{{nfstime3{seconds: 1, nseconds: 2} true}}"; got != want {
		t.Errorf("in other values: %s, want %s", got, want)
	}
}
