package image

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Recipe is everything that decides the contents of an image, besides the versions that Debian has
// at the time of the build.
type Recipe struct {
	Suite    string   // Suite is the release of Debian, by its code name.
	Meta     string   // Meta is the package that depends on the newest kernel of its series.
	Packages []string // Packages are unpacked, with all their dependencies.
	// Files are patterns of files for the guest, from the root of the unpacked packages.
	Files []string
	// Modules are loaded when the guest starts, in this order, each after its dependencies.
	Modules []string
	Applets []string // Applets are the commands of busybox.
	Later   *Later   // Later has programs of a later release. If nil, there are none.
	Layout  int      // Layout is the version of the code that makes the image.
	Script  string   // Script is run by the guest when it starts.
}

// Later are programs of a later release of Debian, for features of the kernel that the programs of
// Suite do not know. They are in the guest's folder /later, with the libraries of their release:
// "/later/run PROGRAM ARGUMENTS" starts one.
type Later struct {
	Suite    string   // Suite is the release, by its code name.
	Packages []string // Packages are unpacked, with all their dependencies.
	Files    []string // Files are the files for the guest.
}

// layout is part of the key of each image. Raise it when a change of this package changes the
// contents of images and the recipe does not show it.
const layout = 1

// Kernels returns the names that [NewRecipe] accepts, the default first.
func Kernels() []string { return []string{"stock", "backports"} }

// NewRecipe returns the recipe for a kernel of Debian 12: "stock" is the kernel of the release,
// 6.1. "backports" is the newest kernel that Debian builds for it, 6.12: it came to the release
// from bookworm-backports, and the security archive now has its updates.
func NewRecipe(kernel string) (Recipe, error) {
	metas := map[string]string{"stock": "linux-image-amd64", "backports": "linux-image-6.12-amd64"}
	meta, ok := metas[kernel]
	if !ok {
		return Recipe{}, fmt.Errorf("no kernel %q: choose one of %q", kernel, Kernels())
	}
	r := Recipe{
		Suite:    "bookworm",
		Meta:     meta,
		Packages: packages(),
		Files:    files(),
		Modules:  modules(),
		Applets:  applets(),
		Layout:   layout,
		Script:   startScript,
	}
	if kernel == "backports" {
		r.Modules = append(r.Modules, tlsModules()...)
		r.Later = tlsPrograms()
	}
	return r, nil
}

// Key returns the name of the image in the cache: recipes that differ have different keys.
func (r Recipe) Key() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("image: a recipe of strings has a JSON form: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

func packages() []string {
	return []string{
		"busybox-static", "fio", "git", "ibverbs-providers", "ibverbs-utils", "iproute2", "netbase",
		"nfs-common", "nfs-kernel-server", "perftest", "rdma-core", "rdmacm-utils", "rpcbind", "sqlite3",
		"strace", "stress-ng",
	}
}

func files() []string {
	return []string{
		"bin/busybox",
		"bin/ip", "bin/ss", "usr/bin/rdma",
		"etc/netconfig", "etc/protocols", "etc/rpc", "etc/services",
		"etc/libibverbs.d/rxe.driver", "etc/libibverbs.d/siw.driver",
		"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so",
		"usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav34.so",
		"lib/x86_64-linux-gnu/libgcc_s.so.1", // pthread_cancel loads it by name
		// Go programs that load libraries are linked to the first two, and load the others by name.
		"lib/x86_64-linux-gnu/libdl.so.2", "lib/x86_64-linux-gnu/libpthread.so.0",
		"usr/lib/x86_64-linux-gnu/libibverbs.so.1", "usr/lib/x86_64-linux-gnu/librdmacm.so.1",
		"lib64/ld-linux-x86-64.so.2",
		"sbin/mount.nfs", "sbin/rpc.statd", "sbin/rpcbind", "sbin/showmount", "usr/sbin/start-statd",
		"usr/sbin/exportfs", "usr/sbin/nfsstat", "usr/sbin/rpc.mountd", "usr/sbin/rpc.nfsd", "usr/sbin/rpcdebug",
		"usr/bin/ib_read_bw", "usr/bin/ib_read_lat", "usr/bin/ib_send_bw", "usr/bin/ib_send_lat",
		"usr/bin/ib_write_bw", "usr/bin/ib_write_lat",
		"usr/bin/ibv_devices", "usr/bin/ibv_devinfo", "usr/bin/ibv_rc_pingpong",
		"usr/bin/rping", "usr/bin/rstream", "usr/bin/strace", "usr/bin/ucmatose",
		// Programs that use files as people do. Git's other programs are links to the first.
		"usr/bin/git", "usr/bin/fio", "usr/bin/sqlite3", "usr/bin/stress-ng",
	}
}

// modules returns the modules in the order of loading. Nothing in the guest loads a module later:
// the modules that the kernel would request, such as the checksums of siw and rxe, come before
// those that request them.
func modules() []string {
	return []string{
		"virtio_pci", "virtio_net", "virtio_rng", "dummy", "veth",
		"crc32c_generic", "crc32_generic",
		"ib_uverbs", "rdma_ucm", "siw", "rdma_rxe", "tcp_diag",
		"rpcrdma", "nfsd", "nfs", "nfsv3", "nfsv4",
	}
}

// tlsModules returns the modules for RPC-with-TLS (RFC 9289), with the ciphers of TLS 1.3 that the
// kernel encrypts records with.
func tlsModules() []string {
	return []string{"tls", "aes_generic", "ghash_generic", "gcm", "ccm", "chacha20poly1305"}
}

// tlsPrograms returns the programs for RPC-with-TLS. Debian 12 has no tlshd, which does TLS
// handshakes for the kernel, and its exportfs and mountd do not know the option xprtsec.
func tlsPrograms() *Later {
	return &Later{
		Suite:    "trixie",
		Packages: []string{"ktls-utils", "nfs-kernel-server"},
		Files: []string{
			"usr/sbin/exportfs", "usr/sbin/rpc.mountd", "usr/sbin/tlshd",
			"usr/lib/x86_64-linux-gnu/libgcc_s.so.1", // pthread_cancel loads it by name
		},
	}
}

func applets() []string {
	names := []string{
		"awk", "base64", "cat", "chmod", "cmp", "cp", "cut", "date", "dd", "df", "diff", "dmesg", "du", "echo", "env",
		"false", "find", "flock", "free", "grep", "head", "hexdump", "hostname", "init", "insmod", "kill", "killall", "ln", "ls",
		"lsmod", "md5sum", "mkdir", "mkfifo", "mknod", "mount", "mv", "nc", "netstat", "od", "pgrep",
		"pidof", "ping", "poweroff", "printf", "ps", "pwd", "readlink", "rm", "rmdir", "rmmod", "sed", "seq",
		"setsid", "sh", "sha256sum", "sleep", "sort", "start-stop-daemon", "stat", "stty", "sync", "sysctl", "tail", "tar", "tee", "telnet",
		"test", "time", "timeout", "top", "touch", "tr", "true", "truncate", "umount", "uname", "uniq", "uptime", "vi",
		"wc", "which", "xargs", "yes",
	}
	slices.Sort(names)
	return names
}
