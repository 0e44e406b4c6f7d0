package dynamic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/internal/sema"
)

// TestVectorsRoundTripWithoutGeneratedCode checks that the hand-written messages of the
// RPC-over-RDMA documents round-trip without generated code.
func TestVectorsRoundTripWithoutGeneratedCode(t *testing.T) {
	spec := "../../../spec/x/rpcrdma1"
	typ := mustType(t, unit(t, sema.Options{Files: []string{spec + "/rpcrdma1.x"}, Include: []string{spec + "/.."}}), "rdma_msg")
	files, err := filepath.Glob("../../../gen/rpcrdma1/testdata/vectors/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	read := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(text), "\n\n")
		if !strings.Contains(head+"\n", "type:  Message\n") {
			continue
		}
		hex := ""
		for line := range strings.Lines(body) {
			bytes, _, _ := strings.Cut(line, "#")
			hex += strings.Join(strings.Fields(bytes), "")
		}
		data := unhex(t, hex)
		root, err := DecodeAll(data, typ, Limits{})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(f), err)
			continue
		}
		checkRoundTrip(t, root, data)
		read++
	}
	if read < 5 {
		t.Errorf("%d vectors read", read)
	}
}
