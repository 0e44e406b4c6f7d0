package xdrtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// Stub is a kind of code that rpcgen makes for the programs in an interface file.
type Stub string

// The stubs of clients, and of servers without main.
const (
	ClientStub Stub = "-l"
	ServerStub Stub = "-m"
)

// Tirpc builds a C program from its source file, an interface file and the stubs that rpcgen makes,
// linked with libtirpc. It returns the path of the program. The test is skipped with -short, and if
// the tools are not installed.
func Tirpc(t *testing.T, x, source string, stub Stub) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles C")
	}
	rpcgen, cc, headers := witness.Program(t, "rpcgen"), witness.Program(t, "cc"), witness.Libtirpc(t)
	witness.Program(t, "cpp") // rpcgen runs it
	dir, base := t.TempDir(), strings.TrimSuffix(filepath.Base(x), ".x")
	for _, from := range []string{x, source} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(from)), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(program string, args ...string) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
	}
	stubs := map[Stub]string{ClientStub: base + "_clnt.c", ServerStub: base + "_svc.c"}[stub]
	for out, how := range map[string]string{base + ".h": "-h", base + "_xdr.c": "-c", stubs: string(stub)} {
		run(rpcgen, "-C", how, "-o", out, base+".x")
	}
	run(cc, "-O1", "-w", "-I", headers, "-o", "program", filepath.Base(source), base+"_xdr.c", stubs, "-ltirpc")
	return filepath.Join(dir, "program")
}
