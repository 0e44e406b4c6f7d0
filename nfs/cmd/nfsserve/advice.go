package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// advice returns the command lines with which a client mounts the files, and lists them without a
// mount. byRDMA is empty without RDMA. mapped means that a port mapper has the ports.
func (o *options) advice(byTCP, byRDMA string, mapped bool) string {
	host, port, _ := net.SplitHostPort(byTCP)
	ip, _ := netip.ParseAddr(host)
	if ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	from := word(host + ":" + o.Export)
	mount := "mount -t nfs"
	switch {
	case !mapped:
		mount += fmt.Sprintf(" -o vers=3,nolock,tcp,port=%s,mountport=%[1]s,mountproto=tcp", port)
	case ip.IsLoopback() || o.NoLocks: // the kernel's own lock manager has the ports of this host
		mount += " -o nolock"
	}
	if o.tls.mode == "required" { // the command nfs has no TLS
		return fmt.Sprintf("to mount it, as root: %s %s /mnt\n", o.tls.option(mount), from)
	}
	list := "nfs ls -transport tcp"
	if byRDMA != "" {
		_, nfs, _ := net.SplitHostPort(byRDMA)
		list = "nfs ls"
		if o.provider != "iwarp" {
			list += " -provider " + word(o.provider)
		}
		if !mapped {
			list += " -port " + nfs
		}
	} else if !mapped {
		list += " -port " + port
	}
	if !mapped {
		list += " -mountport " + port
	}
	return fmt.Sprintf("to mount it, as root: %s %s /mnt\nwithout a mount: %s %s\n", mount, from, list, from)
}

// word returns a text as one word of a shell.
func word(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/:.-_=[]", r)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
