package mount3

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRecordsHaveTheirBytes compares the codec with bytes worked out from RFC 1813 §5.
func TestRecordsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]DirPath{"dirpath": DirPath("/export/home"), "dirpath-empty": {}})
	xdrtest.Run(t, all, map[string]MountRes{
		"mount-res":     {OK: MountResOK{Handle: Handle("a handle"), AuthFlavors: []int32{1, 390101}}},
		"mount-refused": {Status: StatusAcces},
	})
	xdrtest.Run(t, all, map[string]Mounts{"mounts": {{HostName: Name("host"), Directory: DirPath("/x")}}})
	xdrtest.Run(t, all, map[string]Exports{
		"exports":      {{Dir: DirPath("/"), Groups: Groups{Name("lab"), Name("10.0.0.0/8")}}, {Dir: DirPath("/export")}},
		"exports-none": nil,
	})
	xdrtest.CheckTypes(t, all, "DirPath", "MountRes", "Mounts", "Exports")
}

// TestNumbersAreTheDocuments compares program, version and procedures with RFC 1813 §5.1 and §5.2.
func TestNumbersAreTheDocuments(t *testing.T) {
	if Program != 100005 || Version != 3 || ProcNull != 0 || ProcMount != 1 || ProcDump != 2 || ProcUnmount != 3 || ProcUnmountAll != 4 || ProcExport != 5 {
		t.Error("a number differs from the RFC's")
	}
}
