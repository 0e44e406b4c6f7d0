package main

import (
	"strings"
	"testing"
)

const helpText = `Copy a file. It is
renamed at the end.

Usage: nfs get [flags] HOST:/PATH LOCAL
       nfs get -r HOST:/PATH

Examples:
  nfs get a .    # a file
  nfs get -r b

.hidden files are copied, too. The user's
rights stay.

Flags:
  -r           copy a folder
               with all below it
  -q, -quiet   print nothing

       table   row
Exit codes:
  0    done
`

// A help text becomes a page with its sections, and no text becomes a request.
func TestHelpBecomesAPage(t *testing.T) {
	p := page{name: "nfs-get", title: "nfs get", section: 1, version: "0.1.0", date: "2026-11-28", see: []string{"nfs(1)"}}
	got := string(p.roff(helpText))
	want := `.TH NFS\-GET 1 2026-11-28 "rpcrdma 0.1.0"
.nh
.ad l
.SH NAME
nfs\-get \- Copy a file
.SH DESCRIPTION
It is renamed at the end.
.SH SYNOPSIS
.nf
nfs get [flags] HOST:/PATH LOCAL
nfs get \-r HOST:/PATH
.fi
.SH EXAMPLES
.nf
  nfs get a .    # a file
  nfs get \-r b
.fi
.PP
\&.hidden files are copied, too. The user\(aqs
rights stay.
.SH FLAGS
.TP
\-r
copy a folder
with all below it
.TP
\-q, \-quiet
print nothing
`
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	if !strings.HasSuffix(got, ".SH EXIT CODES\n.TP\n0\ndone\n.SH SEE ALSO\nnfs(1)\n") {
		t.Errorf("%s", got)
	}
}

// The commands of the main help have pages.
func TestCommandsOfHelp(t *testing.T) {
	got := strings.Join(commandsOf("x does.\n\nCommands:\n  ls       list,\n           long\n  get      copy\n\nMore help\n  no\n"), " ")
	if got != "ls get" {
		t.Error(got)
	}
}
