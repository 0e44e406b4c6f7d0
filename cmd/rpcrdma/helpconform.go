package main

const helpConform = `Test whether an RPC server or client does what RFC 5531, 4506, 2203 and 8166 require.

Usage: rpcrdma conform [flags] HOST[:PORT] [PROGRAM[.VERSION]]
       rpcrdma conform -listen [flags] [[HOST:]PORT]
       rpcrdma conform -list [flags]

Examples:
  rpcrdma conform localhost:20050
  rpcrdma conform storage.example.net 100003.3
  rpcrdma conform -carrier udp localhost:20050
  rpcrdma conform -carrier rdma -provider iwarp storage.example.net:20049 100003.3
  rpcrdma conform -run '^record/' -failed localhost:20050
  rpcrdma conform -list -run value/opaque
  rpcrdma conform -listen localhost:0
  rpcrdma conform -json localhost:20050

conform makes a connection for each case, and sends right and wrong messages: values of each XDR
type, truncated and contradictory headers, credentials and records. It prints a line for each case
with the section of the document and the answer, and the expected answers if it is not one of these.
After each case the server must answer a null call.

PROGRAM is any program that the server has; without a VERSION it is version 1. Without PROGRAM it is
the test program of conform.x, whose procedures return their arguments: rpcrdma serve has it, and a
server that is written with another library can serve the same file. The cases of values need it,
and are skipped with any other program. Without PORT conform asks the host's rpcbind. The page
docs/conform.md says more.

With -listen conform is a server, and tests a client: one that calls the program CONFORM_CLIENT of
conform.x. The client asks which call it is to make, makes it, and reports the outcome. The replies
are right and wrong ones. The ready line has the address. The run ends when the client has made all
calls, or made no call for the time of -W.

Flags:
  -carrier NAME  tcp, udp, or rdma: RPC-over-RDMA version 1; default tcp
  -provider NAME
                 with -carrier rdma: rdmatcp, iwarp, or ibverbs in a program built by make
                 build-ibverbs; default rdmatcp
  -pcap FILE     with -carrier rdma: write all messages as a pcapng file for Wireshark
  -run PATTERN   run only the cases whose names match a regular expression
  -failed        print only the cases that failed
  -listen        test a client that connects to this side, at an address as with serve
  -list          print the names of the cases, their sections and carriers, and run none
  -W DURATION    time limit for each case; default 5s
  -json          print JSON lines: rpcrdma help json

Exit codes:
  0    no case failed
  1    failure of this command: no connection, or an interrupt
  2    usage error, or no case matches
  3    a case failed
  4    the server refused the null call before the cases
  5    the server did not answer it in time; with -listen: the client made no more calls
`
