package main

const helpCall = `Call a procedure of any interface file, with arguments and results in JSON.

Usage: rpcrdma call [flags] FILE HOST[:PORT] PROGRAM.VERSION.PROCEDURE
       rpcrdma call -template FILE PROGRAM.VERSION.PROCEDURE

Examples:
  rpcrdma call -template notes.x NOTES.NOTES_V1.NOTES_PUT
  extract -doc rfc1813.txt | rpcrdma call -template - NFS_PROGRAM.NFS_V3.NFSPROC3_READ
  rpcrdma call -d '{"name":"greeting","text":{"text":"good morning"}}' notes.x localhost:20200 NOTES.NOTES_V1.NOTES_PUT
  rpcrdma call -carrier rdma -d '"greeting"' notes.x localhost:20201 NOTES.NOTES_V1.NOTES_GET
  rpcrdma call notes.x localhost:20200 0x20000200.1.3
  rpcrdma call -d - notes.x localhost:20200 NOTES.NOTES_V1.NOTES_GET < names.jsonl
  rpcrdma call -cred sys:1000:100,4,24 -d '{"object":{"data":"00"}}' nfs3.x storage.example.net NFS_PROGRAM.NFS_V3.NFSPROC3_GETATTR

FILE is an interface file, with a sidecar in the same folder, as for xdrgen; - is standard input, such as
the output of tools/extract for a document of the IETF. Program, version and procedure have names or
numbers. Without PORT, the host's rpcbind is asked; for NFS over RDMA it is 20049.

Arguments and results have the form that xdrgen help json describes: opaque data are hex, or
{"text": ...} or {"base64": ...} in arguments. One argument is given as it is, several are an object
with their names, or arg1, arg2 and so on without names. A void result is printed as {}. Results
go to standard output, all else to standard error. With -d -, a call is made for each line of standard
input, in order, and an object is printed for each line, also if it failed. If there is no connection,
call ends; a lost one is replaced for the next line, but no call is made twice.

Flags:
  -d JSON        arguments; - is standard input, with arguments on each line, for long ones too: a
                 word of a command line has at most 128 KiB on Linux. Without -d, void
  -template      print arguments to fill in: valid ones, with one element in each array and list
  -cred CRED     credential: none; sys: AUTH_SYS with the user and groups of this process;
                 sys:UID:GID[,GID...]: AUTH_SYS with these, up to 16 groups after the first
                 (RFC 5531 appendix A). Default none
  -carrier NAME  tcp or rdma; default tcp
  -tls [WHEN]    required, also without a word: use TLS or fail; wanted: use it if the server offers
                 it; off. Over TCP it begins with a probe (RFC 9289), over RDMA it is below the
                 provider, where nothing can be wanted. Default off
  -cert FILE     certificate of this side in PEM, with its authorities' certificates
  -key FILE      its private key in PEM; default: in the file of -cert
  -ca FILE       authorities in PEM; one must have issued the server's certificate. The default
                 is the system's authorities
  -tls-name NAME name that the server's certificate must have; default HOST
  -insecure      accept any certificate of the server
  -no-alpn       accept a server that names no application protocol, which RFC 9289 forbids: tlshd of
                 Debian 12 and 13, for the Linux kernel, names none
  -W DURATION    time limit for the connection and for each call; also -timeout; default 5s
  -max-reply BYTES
                 size limit of a reply, with k for KiB or m for MiB; default 16m. Over RDMA, memory
                 of this size is offered for results that have no bound
  -I DIR         folder of included units; may be given several times
  -D NAME=VALUE  define a constant that the file lacks; may be given several times
  -bind FILE     sidecar; default: the one in FILE's folder
  -json          print JSON lines: rpcrdma help json
`

const helpInfo = `List the services of a host: those that rpcbind has, and the answer of each.

Usage: rpcrdma info [flags] HOST[:PORT]

Examples:
  rpcrdma info storage.example.net
  rpcrdma info -json storage.example.net
  rpcrdma info -port 20049 -provider iwarp storage.example.net

PORT is the port of rpcbind, by default 111. Each service of the host over TCP and RDMA is asked for
its versions, by null calls, and over TCP whether it offers TLS (RFC 9289). Over RDMA, the terms of
the connection and the credits are shown, too. Services over UDP, of other hosts, and on sockets of the
file system are listed, but not asked. Eight are asked at a time. Where one fails, its row has the
reason, and the exit code is still 0, unless rpcbind and all services fail.

Flags:
  -port N        also connect over RDMA to this port, whether rpcbind knows it or not
  -W DURATION    time limit for rpcbind and for each service; default 5s
  -json          print one JSON object: rpcrdma help json
`
