package image

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// AgentPath is the file that the guest starts after the start script.
const AgentPath = "/usr/bin/agent"

// laterDir is the guest's folder of the programs of [Later], and laterRun the script that starts
// one. They need their own loader: the one in the guest's root is of another libc.
const (
	laterDir = "later"
	loader   = "usr/lib64/ld-linux-x86-64.so.2"
	laterRun = `#!/bin/sh
program=$1
shift
exec /` + laterDir + "/" + loader + ` --library-path /` + laterDir + `/usr/lib/x86_64-linux-gnu "/` + laterDir + `/usr/sbin/$program" "$@"
`
)

// writeInitramfs writes the guest's files, without the agent. later has the packages of r.Later.
func writeInitramfs(file string, r Recipe, t, later tree, mods []module) error {
	return compressed(file, func(a *archive) error {
		for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
			a.Link(dir, "usr/"+dir)
		}
		for _, dir := range []string{"dev", "proc", "sys", "run", "export", "mnt", "root", "var/lib/nfs", "var/tmp", "etc/exports.d", "usr/sbin"} {
			a.Dir(dir, 0o755)
		}
		a.Dir("tmp", 0o1777)
		a.Link("var/run", "/run")
		files, err := t.withLibraries(r.Files)
		if err != nil {
			return err
		}
		if err := addFiles(a, "", t, files); err != nil {
			return err
		}
		for _, name := range r.Applets {
			if !slices.ContainsFunc(files, func(f string) bool { return path.Base(f) == name }) {
				a.Link("usr/bin/"+name, "busybox")
			}
		}
		var order strings.Builder
		for _, m := range mods {
			name := "usr/lib/modules/" + m.name + ".ko"
			a.File(name, 0o644, m.data)
			fmt.Fprintf(&order, "/%s\n", name)
		}
		a.File("usr/lib/modules/order", 0o644, []byte(order.String()))
		a.Link("init", "usr/bin/busybox") // runs etc/inittab
		a.File("etc/inittab", 0o644, []byte("::sysinit:/etc/start\n::once:"+AgentPath+"\n"))
		a.File("etc/start", 0o755, []byte(r.Script))
		a.File("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n_rpc:x:101:65534::/run/rpcbind:/bin/false\nnone:x:65534:65534::/:/bin/false\n"))
		a.File("etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
		a.File("etc/hosts", 0o644, []byte("127.0.0.1 localhost\n10.0.2.15 guest\n10.0.2.2 host\n"))
		a.File("etc/nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\nrpc: files\n"))
		a.File("var/lib/nfs/etab", 0o644, nil)
		a.File("var/lib/nfs/rmtab", 0o644, nil)
		if r.Later == nil {
			return nil
		}
		return addLater(a, r.Later, later)
	})
}

// addFiles adds files of a tree, below a folder of the guest.
func addFiles(a *archive, dir string, t tree, files []string) error {
	for _, name := range files {
		data, mode, err := t.read(name)
		if err != nil {
			return err
		}
		a.File(path.Join(dir, merged(name)), int(mode), data)
	}
	return nil
}

// addLater adds the programs of a later release.
func addLater(a *archive, l *Later, t tree) error {
	files, err := t.withLibraries(append([]string{loader}, l.Files...))
	if err != nil {
		return err
	}
	a.File(laterDir+"/run", 0o755, []byte(laterRun))
	return addFiles(a, laterDir, t, files)
}

// Append writes an initramfs to file: that of the image, and programs in the folder /usr/bin.
// The kernel unpacks archives that follow each other, compressed or not.
func (img *Image) Append(file string, programs ...string) error {
	base, err := os.Open(img.Initrd)
	if err != nil {
		return err
	}
	defer base.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	n, err := io.Copy(out, base)
	if err != nil {
		return err
	}
	if _, err := out.Write(make([]byte, -n&3)); err != nil {
		return err
	}
	a := newArchive(out)
	for _, name := range programs {
		program, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		a.File("usr/bin/"+filepath.Base(name), 0o755, program)
	}
	if err := a.Close(); err != nil {
		return err
	}
	return out.Close()
}

// compressed writes an archive to file, compressed fast: the emulated guest unpacks it.
func compressed(file string, fill func(*archive) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := bufio.NewWriter(f)
	z, err := gzip.NewWriterLevel(buffer, gzip.BestSpeed)
	if err != nil {
		return err
	}
	a := newArchive(z)
	if err := fill(a); err != nil {
		return err
	}
	for _, end := range []func() error{a.Close, z.Close, buffer.Flush, f.Close} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}
