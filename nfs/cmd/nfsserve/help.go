package main

import (
	"flag"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
)

// helpText is the help, which describes the flags that define defines.
var helpText = `nfsserve serves a directory, a zip file or memory by NFS version 3, over TCP and RDMA at once.

Usage: nfsserve [flags] DIR
       nfsserve [flags] -fs zip FILE
       nfsserve [flags] -fs mem

Examples:
  nfsserve -portmap off /srv/data          for this machine; as any user
  nfsserve -ro -tcp :2049 -rdma :20049 /srv/data
                                           for all hosts that can connect, without changes
  nfsserve -fs zip backup.zip              the files in a zip file
  nfsserve -fs mem -rdma ''                files in memory, over TCP alone
  nfsserve -provider rdmatcp /srv/data     for clients of this module, without CRCs of iWARP

When it serves, it prints the addresses, and the command lines that mount and list the files. The
first ^C or SIGTERM closes it in order. docs/nfs-server.md is a guide.

Files:
  -fs KIND           dir, the directory DIR; zip, the zip file FILE, read-only; mem, files in memory
                     that end with the server; default dir
  -export PATH       path that clients mount; default /export
  -ro                refuse all changes
  -state DIRECTORY   for the key, the table of handles, and the list of clients that have locks;
                     default DIR.nfs3

Addresses:
  -tcp ADDRESS       NFS, MOUNT and locks over TCP, and MOUNT and locks over UDP; default
                     127.0.0.1:2049. systemd:NAME: the socket of that name that systemd passes
  -rdma ADDRESS      NFS over RDMA; empty for none; default 127.0.0.1:20049
  -provider NAME     verbs provider: ` + provider.Forms() + `; default iwarp, which Linux has
  -portmap MODE      port mapper that clients ask: own, at port 111 of the -tcp host; system, the
                     rpcbind that runs there; off; auto, the first of these that works; default auto

TLS, over TCP (RFC 9289):
  -tls MODE          off; wanted, plaintext too; required, nothing else, and neither RDMA nor UDP;
                     default off
  -cert FILE         certificate of this host in PEM, with its authorities' certificates
  -key FILE          its private key in PEM; default: in the file of -cert
  -ca FILE           authorities in PEM: clients must then have a certificate of one of them
The files are read again when they are needed, after 5 s or more, and at SIGHUP at once.

Rules:
  -allow-root        let user 0 of clients act as root, if the server runs as root
  -async             reply before changes are on the disk
  -locks MODE        on, or off to refuse each lock at once (ENOLCK); default on
  -grace DURATION    time after a restart for which clients reclaim their locks, and new ones wait;
                     default 45s
  -strict-cookies    refuse to continue the listing of a directory that has changed

Output:
  -log               write a line for each call to standard error
  -json              write the lines of -log as JSON
  -completion SHELL  print a completion script for bash, zsh or fish, and end:
                     source <(nfsserve -completion bash)
  -version           print the version

Exit codes:
  0    ended by ^C or SIGTERM
  1    failed: an address is in use, the files cannot be opened
  2    usage error
`

// define defines the flags.
func (o *options) define(f *flag.FlagSet) {
	// RFC 8166 §8.2.2.1: clients set up security over TCP, at the usual port; R311
	f.StringVar(&o.tcp, "tcp", "127.0.0.1:2049", "")
	f.StringVar(&o.rdma, "rdma", "127.0.0.1:20049", "")
	f.StringVar(&o.provider, "provider", "iwarp", "")
	f.StringVar(&o.portmap, "portmap", "auto", "")
	f.BoolVar(&o.calls, "log", false, "")
	f.BoolVar(&o.json, "json", false, "")
	f.StringVar(&o.files, "fs", "dir", "")
	f.StringVar(&o.State, "state", "", "")
	f.StringVar(&o.Export, "export", "/export", "")
	f.BoolVar(&o.ReadOnly, "ro", false, "")
	f.BoolVar(&o.AllowRoot, "allow-root", false, "")
	f.BoolVar(&o.Async, "async", false, "")
	f.StringVar(&o.tls.mode, "tls", "off", "")
	f.StringVar(&o.tls.cert, "cert", "", "")
	f.StringVar(&o.tls.key, "key", "", "")
	f.StringVar(&o.tls.ca, "ca", "", "")
	f.StringVar(&o.locks, "locks", "on", "")
	f.DurationVar(&o.LockGrace, "grace", 45*time.Second, "")
	f.BoolVar(&o.StrictCookies, "strict-cookies", false, "")
	f.StringVar(&o.shell, "completion", "", "")
	f.BoolVar(&o.version, "version", false, "")
}

// script returns the completion script of a shell.
func script(set *flag.FlagSet, shell string) (string, error) {
	flags := completion.Flags(set, map[string][]string{
		"provider": provider.Names(), "portmap": {"auto", "own", "system", "off"}, "fs": {"dir", "zip", "mem"}, "locks": {"on", "off"},
		"tls":        {"off", "wanted", "required"},
		"completion": completion.Shells,
	})
	for i := range flags {
		if flags[i].Long == "state" {
			flags[i].Kind = completion.Folder
		}
	}
	tool := completion.Tool{Name: "nfsserve", Load: "nfsserve -completion", Commands: []completion.Command{{Flags: flags, Operands: completion.AnyFiles}}}
	return tool.Script(shell)
}
