// Package witness finds the programs of others that tests compare this project with: Wireshark, rpcgen, shells, qemu.
//
// A test that lacks one skips, so the tests pass on a machine with Go, git and make alone. A run that sets the
// environment variable WITNESSES=required, as continuous integration does, fails such a test instead.
package witness

import (
	"os"
	"os/exec"
	"testing"
)

// Env is the environment variable that makes a missing witness an error. Its one value with a meaning is Required.
const (
	Env      = "WITNESSES"
	Required = "required"
)

// debian gives the Debian package of each program.
var debian = map[string]string{
	"bash":                "bash",
	"cc":                  "gcc",
	"cpp":                 "cpp",
	"fish":                "fish",
	"gcc":                 "gcc",
	"git":                 "git",
	"go":                  "golang",
	"grep":                "grep",
	"ip":                  "iproute2",
	"make":                "make",
	"patch":               "patch",
	"qemu-aarch64-static": "qemu-user-static",
	"rpcbind":             "rpcbind",
	"rpcgen":              "rpcsvc-proto",
	"sed":                 "sed",
	"sh":                  "dash",
	"tshark":              "tshark",
	"zsh":                 "zsh",
}

// Program returns the path of a program. Where it is not installed, Program skips the test, or fails it if witnesses
// are required. It panics for a program that its table of Debian packages lacks.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	pkg, ok := debian[name]
	if !ok {
		panic("witness: add " + name + " and its Debian package to the table")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		missing(tb, name, pkg)
	}
	return path
}

// tirpc is the folder of libtirpc's headers.
const tirpc = "/usr/include/tirpc"

// Libtirpc returns the folder of libtirpc's headers, for the C compiler's -I. Where they are not installed, it does as
// Program does.
func Libtirpc(tb testing.TB) string {
	tb.Helper()
	if _, err := os.Stat(tirpc + "/rpc/rpc.h"); err != nil {
		missing(tb, "libtirpc", "libtirpc-dev")
	}
	return tirpc
}

func missing(tb testing.TB, name, pkg string) {
	tb.Helper()
	const text = "%s is not installed (Debian package %s)"
	if os.Getenv(Env) == Required {
		tb.Fatalf(text+", and "+Env+"="+Required+" demands it", name, pkg)
	}
	tb.Skipf(text, name, pkg)
}
