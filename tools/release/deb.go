package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"
)

// debVersion is a version as Debian orders it: a candidate has a tilde, and is older.
func debVersion(version string) string {
	main, pre, found := strings.Cut(version[1:], "-")
	if !found {
		return main
	}
	return main + "~" + strings.ReplaceAll(pre, "-", ".")
}

// deb returns a package for Debian (deb(5)): an archive of ar(1) with two compressed ones in it.
// The programs are static, so it depends on no other package.
func (r *release) deb(t target, files tree) ([]byte, error) {
	var installed tree
	for _, f := range files {
		name, ok := debianPath(f.name)
		if !ok {
			continue
		}
		if isManual(f.name) || strings.HasSuffix(name, "/changelog") {
			z, err := gzipped(f.data)
			if err != nil {
				return nil, err
			}
			name, f.data = name+".gz", z
		}
		installed = append(installed, file{name: name, mode: f.mode, data: f.data})
	}
	installed = append(installed, file{name: "usr/share/doc/rpcrdma/copyright", mode: 0o644, data: copyright(files)})
	installed = installed.under("")
	size := 0
	var sums bytes.Buffer
	for _, f := range installed {
		size += (len(f.data) + 1023) / 1024
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
	}
	for i := range installed {
		installed[i].name = "./" + installed[i].name
	}
	data, err := installed.tarGz(r.time)
	if err != nil {
		return nil, err
	}
	control := fmt.Sprintf(controlText, debVersion(r.version), t.arch, size)
	meta, err := tree{{"./control", 0o644, []byte(control)}, {"./md5sums", 0o644, sums.Bytes()}}.tarGz(r.time)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, f := range []file{{"debian-binary", 0, []byte("2.0\n")}, {"control.tar.gz", 0, meta}, {"data.tar.gz", 0, data}} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", f.name, r.time.Unix(), 0, 0, "100644", len(f.data))
		out.Write(f.data)
		if len(f.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// controlText is the control file: version, architecture and installed size in KiB.
const controlText = `Package: rpcrdma
Version: %s
Architecture: %s
Maintainer: The rpcrdma authors <rpcrdma@users.noreply.github.com>
Installed-Size: %d
Section: net
Priority: optional
Homepage: https://github.com/rpcrdma/rpcrdma
Description: RPC over RDMA and TCP, an XDR compiler, and NFS without mounts
 rpcrdma calls, tests and measures RPC services over RDMA and TCP, xdrgen
 compiles XDR and RPC definitions to Go, nfs copies files of NFS servers
 without a mount, and nfsserve serves a directory by NFS version 3.
`

// debianPath is where Debian has a file of the archives.
func debianPath(name string) (string, bool) {
	switch {
	case name == "LICENSE" || name == "THIRD-PARTY-LICENSES":
		return "", false // in the file copyright
	case name == "CHANGELOG.md":
		return "usr/share/doc/rpcrdma/changelog", true
	case !strings.Contains(name, "/") || strings.HasPrefix(name, "sbom/"):
		return "usr/share/doc/rpcrdma/" + name, true
	}
	name = strings.Replace(name, "share/zsh/site-functions/", "share/zsh/vendor-completions/", 1)
	return "usr/" + name, true
}

// copyright returns the licences of the package.
func copyright(files tree) []byte {
	var out bytes.Buffer
	for _, f := range files {
		if f.name == "LICENSE" || f.name == "THIRD-PARTY-LICENSES" {
			out.Write(f.data)
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}
