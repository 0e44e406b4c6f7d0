package rdmaconfig

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// TestRecordsHaveTheirBytes proves R294, in both directions.
func TestRecordsHaveTheirBytes(t *testing.T) {
	all := xdrtest.Load(t)
	xdrtest.Run(t, all, map[string]Req{
		"req":         {MaxCallSendSize: 1024, MaxReplySendSize: 4096, MaxRDMARead: 8},
		"req-extreme": {MaxReplySendSize: 0xffffffff},
	})
	xdrtest.Run(t, all, map[string]Reply{
		"reply":         {MaxCallSendSize: 2048, Align: 512, MaxRDMARead: 16},
		"reply-extreme": {MaxCallSendSize: 0xffffffff, MaxRDMARead: 0x80000000},
	})
	xdrtest.CheckTypes(t, all, "Req", "Reply")
}

// TestNumbersAreTheDocuments proves R293: program, version and procedure of §6.2.
func TestNumbersAreTheDocuments(t *testing.T) {
	if Program != 100400 || ProgramVers1 != 1 || ProcConfRDMA != 1 {
		t.Errorf("program %d, version %d, procedure %d; want 100400, 1 and 1", Program, ProgramVers1, ProcConfRDMA)
	}
}
