// Package witness finds programs of other projects that tests compare this project with: Wireshark,
// rpcgen, shells, qemu.
//
// A test whose program is missing skips, so the tests pass on a machine with Go, git and make
// alone. A run that sets the environment variable WITNESSES=required, as continuous integration
// does, fails such a test instead.
package witness

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Env is the environment variable that makes a missing program an error, if its value is Required.
const (
	Env      = "WITNESSES"
	Required = "required"
)

// debian maps programs to their Debian packages.
var debian = map[string]string{
	"apt-cache":               "apt",
	"apt-get":                 "apt",
	"bash":                    "bash",
	"cc":                      "gcc",
	"chromium":                "chromium",
	"cpp":                     "cpp",
	"dpkg":                    "dpkg",
	"dpkg-deb":                "dpkg",
	"fish":                    "fish",
	"gcc":                     "gcc",
	"ganesha.nfsd":            "nfs-ganesha",
	"git":                     "git",
	"go":                      "golang",
	"grep":                    "grep",
	"ip":                      "iproute2",
	"make":                    "make",
	"man":                     "man-db",
	"nfs-cat":                 "libnfs-utils",
	"nfs-cp":                  "libnfs-utils",
	"nfs-ls":                  "libnfs-utils",
	"nvim":                    "neovim",
	"openssl":                 "openssl",
	"patch":                   "patch",
	"qemu-aarch64-static":     "qemu-user-static",
	"qemu-system-x86_64":      "qemu-system-x86",
	"rpcbind":                 "rpcbind",
	"rpcgen":                  "rpcsvc-proto",
	"rpcinfo":                 "rpcbind",
	"sed":                     "sed",
	"sh":                      "dash",
	"showmount":               "nfs-common",
	"strace":                  "strace",
	"strip":                   "binutils",
	"tar":                     "tar",
	"systemd-socket-activate": "systemd",
	"tshark":                  "tshark",
	"xz":                      "xz-utils",
	"zsh":                     "zsh",
}

// Program returns the path of a program. If the program is not installed, Program skips the test,
// or fails it if Env is Required. It panics for a program that is not in the table of Debian
// packages.
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

// Missing returns the Debian packages, sorted, of those programs that are not installed. It is for
// programs that decide themselves what to do then; tests call Program. It panics as Program does.
func Missing(names ...string) []string {
	var list []string
	for _, name := range names {
		pkg, ok := debian[name]
		if !ok {
			panic("witness: add " + name + " and its Debian package to the table")
		}
		if _, err := exec.LookPath(name); err != nil {
			list = append(list, pkg)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// tirpc is the folder of libtirpc's headers.
const tirpc = "/usr/include/tirpc"

// Libtirpc returns the folder of libtirpc's headers, for the C compiler's -I. If they are not
// installed, it skips or fails the test as Program does.
func Libtirpc(tb testing.TB) string {
	tb.Helper()
	if _, err := os.Stat(tirpc + "/rpc/rpc.h"); err != nil {
		missing(tb, "libtirpc", "libtirpc-dev")
	}
	return tirpc
}

// libraries maps shared libraries to their Debian packages.
var libraries = map[string]string{
	"libibverbs.so.1": "libibverbs1",
	"librdmacm.so.1":  "librdmacm1",
}

// SharedLibrary skips or fails the test as Program does if a shared library is not installed. It
// panics for a library that is not in its table of Debian packages.
func SharedLibrary(tb testing.TB, name string) {
	tb.Helper()
	pkg, ok := libraries[name]
	if !ok {
		panic("witness: add " + name + " and its Debian package to the table")
	}
	for _, dir := range []string{"/usr/lib/*", "/usr/lib", "/usr/lib64", "/lib", "/lib64"} {
		if found, _ := filepath.Glob(dir + "/" + name); len(found) > 0 { // a good pattern
			return
		}
	}
	missing(tb, name, pkg)
}

// VerbsHeaders skips or fails the test as Program does if the headers of libibverbs and librdmacm
// are not installed.
func VerbsHeaders(tb testing.TB) {
	tb.Helper()
	for header, pkg := range map[string]string{"infiniband/verbs.h": "libibverbs-dev", "rdma/rdma_cma.h": "librdmacm-dev"} {
		if _, err := os.Stat("/usr/include/" + header); err != nil {
			missing(tb, header, pkg)
		}
	}
}

// AuthSys writes rpc/auth_sys.h into a folder, for the C compiler's -I. RFC 7863 includes that
// header, whose types libtirpc has under the names of rpc/auth_unix.h.
func AuthSys(tb testing.TB, dir string) {
	tb.Helper()
	if err := os.Mkdir(filepath.Join(dir, "rpc"), 0o700); err != nil {
		tb.Fatal(err)
	}
	const text = "#define xdr_authsys_parms xdr_authunix_parms\n"
	if err := os.WriteFile(filepath.Join(dir, "rpc/auth_sys.h"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Ganesha returns the path of the NFS server NFS-Ganesha and the folder of its plugins. If the
// server or its back end in memory is missing, Ganesha skips or fails the test as Program does.
func Ganesha(tb testing.TB) (program, plugins string) {
	tb.Helper()
	program = Program(tb, "ganesha.nfsd")
	found, _ := filepath.Glob("/usr/lib/*/ganesha/libfsalmem.so") // the pattern is a good one
	if len(found) == 0 {
		missing(tb, "the memory back end of NFS-Ganesha", "nfs-ganesha-mem")
	}
	return program, filepath.Dir(found[0])
}

func missing(tb testing.TB, name, pkg string) {
	tb.Helper()
	const text = "%s is not installed (Debian package %s)"
	if os.Getenv(Env) == Required {
		tb.Fatalf(text+", and "+Env+"="+Required+" requires it", name, pkg)
	}
	tb.Skipf(text, name, pkg)
}
