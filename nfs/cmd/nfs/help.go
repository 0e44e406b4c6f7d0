package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/rpcrdma/internal/cli"
	"github.com/rpcrdma/rpcrdma/internal/spelling"
	"github.com/rpcrdma/rpcrdma/nfs/internal/provider"
)

// topics are the texts of help, by command or topic. The main help has no name.
var topics = map[string]string{
	"": helpMain, "ls": helpLs + helpConnection, "cat": helpCat + helpConnection,
	"get": helpGet + helpCopy + helpConnection, "put": helpPut + helpCopy + helpConnection,
	"completion": helpCompletion, "version": "Usage: nfs version\n\nPrint the version of nfs.\n",
	"exit-codes": helpExit, "json": helpJSON,
}

const helpMain = `nfs lists and copies the files of an NFS server, over RDMA or TCP. Nothing is mounted: the
command is the NFS client, and needs no privilege and no RDMA hardware.

Examples:
  nfs ls -l storage.example.net:/export            list a directory
  nfs cat storage.example.net:/export/readme       print a file
  nfs get storage.example.net:/export/readme .     copy a file to this directory
  nfs put -r photos storage.example.net:/export/photos
                                                   copy a tree to the server
  nfs ls -transport tcp storage.example.net:/export
                                                   a server without RDMA

Commands:
  ls          list a directory of the server
  cat         write a file of the server to standard output
  get         copy a file or a tree from the server
  put         copy a file or a tree to the server
  completion  print a completion script for a shell
  version     print the version of nfs

More help: nfs help COMMAND, nfs help exit-codes, nfs help json. docs/nfs.md is a guide.
`

const helpLs = `List a directory of the server, in its order.

Usage: nfs ls [flags] HOST:/PATH

Examples:
  nfs ls storage.example.net:/export
  nfs ls -l -R storage.example.net:/export/photos
  nfs ls -json storage.example.net:/export
  nfs ls -transport tcp -port 2049 -mountport 2049 localhost:/export

Flags:
  -l                 print mode, links, owner, size and time
  -R                 list directories below, too
`

const helpCat = `Write a file of the server to standard output.

Usage: nfs cat [flags] HOST:/PATH

Examples:
  nfs cat storage.example.net:/export/readme
  nfs cat storage.example.net:/export/backup.tar | tar x

Flags:
`

const helpGet = `Copy a file or a tree from the server. If LOCAL is a directory, a file is copied into it.

Usage: nfs get [flags] HOST:/PATH LOCAL

Examples:
  nfs get storage.example.net:/export/readme .
  nfs get -r storage.example.net:/export/photos photos
  nfs get -r -resume storage.example.net:/export/photos photos

`

const helpPut = `Copy a file or a tree to the server. If PATH is a directory, a file is copied into it.

Usage: nfs put [flags] LOCAL HOST:/PATH

Examples:
  nfs put README.md storage.example.net:/export/readme
  nfs put -r photos storage.example.net:/export/photos
  nfs put -r -resume photos storage.example.net:/export/photos

`

const helpCopy = `A file gets its name when it is complete: until then it is NAME.nfs3part. Permissions and times are
copied, and links as links. On a terminal, a line shows the progress of
the whole copy. docs/nfs.md has all rules.

Flags:
  -r                 copy a directory with all below it
  -resume            go on with an interrupted copy, and skip files that are there with the same size
                     and time
  -window BYTES      bytes between two times that the copy is stored and noted: a copy that is cut
                     repeats at most so many; default 16777216
  -q, -quiet         print no progress and no summary
`

var helpConnection = `  -transport NAME    rdma or tcp; default rdma
  -vers VERSION      version of NFS: 3, 4.1 or 4.2; default 3
  -provider NAME     verbs provider for rdma: ` + provider.Forms() + `; default iwarp, which Linux has
  -port N            port of NFS; default: 20049 for rdma and 2049 for tcp. For version 3 rpcbind is asked before
  -mountport N       port of MOUNT over TCP; default: ask rpcbind. Version 4 has no MOUNT, and does not ask rpcbind
  -uid N             user number; default: the user of the process
  -gid N             group number; default: the group of the process
  -depth N           READ or WRITE calls in flight; default 8
  -timeout DURATION  longest time to connect and mount; default 10s. Later the command waits for the
                     server until a signal comes
  -json              print JSON lines: nfs help json

` + helpExit

const helpExit = `Exit codes:
  0         done
  1         failed on this side, for example because the disk is full
  2         usage error
  3         some files of a tree were not copied; each has a line
  4         the server answered with an error, such as NFS3ERR_NOSPC, or broke a rule of RFC 1813
  5         the server did not answer in time
  6         no connection to the server, or it was lost: a change may have been made
  7         a file, a directory or an export does not exist, on either side
  8         permission denied, on either side
  130, 143  ended by ^C or SIGTERM
`

const helpCompletion = `Print a script that makes a shell complete commands, flags, their values, files and hosts.

Usage: nfs completion bash|zsh|fish

Examples:
  source <(nfs completion bash)
  nfs completion zsh > "${fpath[1]}/_nfs"
  nfs completion fish > ~/.config/fish/completions/nfs.fish
`

const helpJSON = `With -json, commands print JSON objects to standard output, one per line. Each has "v": 1 and a
"type". Later versions may add fields, and keep those listed here. A name or target that is not
UTF-8 comes again in name_base64 or target_base64.

  ls        entry    name kind mode links uid gid size_bytes used_bytes fileid mtime, and of a symbolic
                     link target. kind is file, directory, symlink, socket, fifo or device
  get put   file     name kind size_bytes copied_bytes, and result: copied, unchanged or skipped
            totals   files size_bytes, when all files of a tree have been found
            progress files done_bytes copied_bytes elapsed_ns, every second, and name: the file that
                     is copied; all_files size_bytes: found until now, all of them if complete is true.
                     done_bytes has also the bytes that were there before, copied_bytes has not
            summary  files unchanged skipped failed copied_bytes size_bytes elapsed_ns
  all       error    message exit code: exit is the exit code; code is a word: usage, partial, a status
                     of NFS or MOUNT such as NFS3ERR_NOENT, rpc, protocol, timeout, network, failed,
                     not_found, permission or interrupted. A file of a tree that fails has one, too
`

// help prints the text of a topic.
func (p *program) help(topic string) error {
	text, ok := topics[topic]
	if !ok {
		message := fmt.Sprintf("no help topic %.64q", topic)
		var names []string
		for name := range topics {
			names = append(names, name)
		}
		if near, ok := spelling.Nearest(topic, names); ok {
			message = spelling.DidYouMean(message, near)
		}
		return fmt.Errorf("%w: %s", errUsage, message)
	}
	_, err := io.WriteString(p.stdout, cli.Fold(text, cli.Width(p.stdout)))
	return err
}

// usageOf returns the form of a command, from its help.
func usageOf(command string) string {
	_, form, _ := strings.Cut(topics[command], "Usage: ")
	form, _, _ = strings.Cut(form, "\n")
	return form
}

// printVersion prints the version.
func (p *program) printVersion() error {
	_, err := fmt.Fprintln(p.stdout, cli.Version("nfs"))
	return err
}
