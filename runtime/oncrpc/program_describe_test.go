package oncrpc_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Describe gives the names that are known, and always the numbers.
func TestDescribeGivesNamesAndNumbers(t *testing.T) {
	names := map[uint32]string{1: "GETATTR"}
	for _, tt := range []struct {
		p    oncrpc.Program
		proc uint32
		want string
	}{
		{oncrpc.Program{Number: 100003, Version: 3}, 1, "program 100003 (0x186a3) version 3 procedure 1"},
		{oncrpc.Program{Number: 100003, Version: 3, Name: "NFS3", Procedures: names}, 1, "NFS3 GETATTR (100003 v3 proc 1)"},
		{oncrpc.Program{Number: 100003, Version: 3, Name: "NFS3", Procedures: names}, 2, "NFS3 (100003 v3 proc 2)"},
		{oncrpc.Program{Number: 100003, Version: 3, Procedures: names}, 1, "GETATTR (100003 v3 proc 1)"},
	} {
		if got := tt.p.Describe(tt.proc); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// DescribeCall reads the numbers of any message, however short.
func TestDescribeCallOfMessagesOfAnyLength(t *testing.T) {
	call := []byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3, 0, 0, 0, 1}
	for n, want := range map[int]string{
		len(call):     "program 100003 (0x186a3) version 3 procedure 1",
		len(call) - 1: "program 0 (0x0) version 0 procedure 0",
		0:             "program 0 (0x0) version 0 procedure 0",
	} {
		if got := oncrpc.DescribeCall(call[:n]); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}
