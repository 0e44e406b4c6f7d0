package codec

import (
	"os/exec"
	"strings"
	"testing"
)

// The wrappers of generated codecs are fast because the compiler inlines them. This test fails if a
// change makes one too large for that.
func TestFramesAreInlined(t *testing.T) {
	const module = "github.com/rpcrdma/rpcrdma/"
	for _, c := range []struct{ pkg, want string }{
		{module + "gen/rpcrdma1", "can inline (*Message).EncodeXDR"},
		{module + "gen/rpcrdma1", "can inline (*Message).DecodeXDR"},
		{module + "gen/rpcrdma1", "can inline (*Message).CheckXDR"},
		{module + "runtime/xdr/codec", "can inline Bytes"},
		{module + "runtime/xdr/codec", "can inline Lacks"},
	} {
		out, err := exec.Command("go", "build", "-gcflags="+c.pkg+"=-m", c.pkg).CombinedOutput()
		if err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		if !strings.Contains(string(out), c.want) {
			t.Errorf("%s: the compiler does not say %q", c.pkg, c.want)
		}
	}
}
