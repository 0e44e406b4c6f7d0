package main

// helpTopics are the help topics that are not commands.
var helpTopics = []string{"errors", "exit-codes", "json"}

// help returns the help text for a command or topic; "" is the main help.
func help(topic string) (text string, ok bool) {
	switch topic {
	case "":
		return helpMain, true
	case "call":
		return helpCall + "\nFlags of -carrier rdma; -pcap and -limit also without it:\n" + helpRDMA + helpExit, true
	case "info":
		return helpInfo + helpDevice + helpExit, true
	case "ping":
		return helpPing + helpDevice + helpExit, true
	case "nfsping":
		return helpNFSPing + helpDevice + helpExit, true
	case "perf":
		return helpPerf + helpDevice + helpExit, true
	case "serve":
		return helpServe + helpDevice + helpExit, true
	case "conform":
		return helpConform, true
	case "devices":
		return helpDevices, true
	case "selftest":
		return helpSelftest, true
	case "completion":
		return helpCompletion, true
	case "version":
		return "Usage: rpcrdma version\n\nPrint the version of rpcrdma.\n", true
	case "json":
		return helpJSON, true
	case "errors":
		return helpErrors(), true
	case "exit-codes":
		return helpExit[1:], true
	}
	return "", false
}

const helpMain = `rpcrdma calls, tests and measures RPC services, over RDMA and over TCP: RPC-over-RDMA version 1
(RFC 8166) and version 2 (draft-ietf-nfsv4-rpcrdma-version-two-00), and ONC RPC over TCP
(RFC 5531). It needs no RDMA hardware, and can use it: rpcrdma devices.

Examples:
  rpcrdma call -template FILE.x PROGRAM.VERSION.PROCEDURE
                                 print arguments to fill in
  rpcrdma call -d JSON FILE.x storage.example.net PROGRAM.VERSION.PROCEDURE
                                 call a procedure and print its results
  rpcrdma info storage.example.net
                                 list the services of a host, with their versions, and ask each
  rpcrdma serve                  start a test server on port 20049
  rpcrdma ping localhost         check that it answers, and print the version and the sizes
  rpcrdma nfsping storage.example.net
                                 check that an NFS server answers, and which versions it has
  rpcrdma perf localhost         measure the latency of small calls
  rpcrdma perf -size 1m -depth 8 localhost
                                 measure throughput
  rpcrdma conform localhost:20050 100003.3
                                 test a server of any program over TCP

Commands:
  call        call a procedure of any interface file, with arguments and results in JSON
  info        list the services of a host: rpcbind's list, versions, RDMA terms, TLS
  ping        connect to a server and repeat a null call
  nfsping     connect to an NFS server and repeat a null call of each version
  perf        measure latency, rate and throughput of calls
  serve       run a server for ping, perf and conform
  conform     test whether an RPC server or client does what the documents require
  devices     list the RDMA devices of this machine, and what keeps them from being used
  selftest    run the acceptance suite on a device, and print a page to send back
  completion  print a completion script for a shell
  version     print the version of rpcrdma

More help: rpcrdma help COMMAND, rpcrdma help errors, rpcrdma help exit-codes, rpcrdma help json
`

const helpPing = `Connect to a server and repeat a null call: procedure 0, which every program has.

Usage: rpcrdma ping [flags] HOST[:PORT]

Examples:
  rpcrdma ping -c 3 localhost
  rpcrdma ping -prog 100003 -vers 4 storage.example.net:20049
  rpcrdma ping -json -c 1 localhost
  rpcrdma ping -versions 2,1 -v localhost        version 2, or 1 if the server does not have 2
  rpcrdma ping -tls -ca ca.pem storage.example.net

ping first prints the version of RPC-over-RDMA and the sizes that the two ends agreed on. An error
names the stage that failed: name (resolving HOST), connection, or call: rpcrdma help errors.

Flags:
  -c N           stop after N calls; default 0: run until interrupted
  -i DURATION    interval between calls; default 1s
  -W DURATION    time limit for the connection and for each reply; default 5s
  -prog N        program number; default 100003, NFS
  -vers N        program version; default 3
  -v             print all terms that were negotiated
  -q             print the summary only
  -json          print JSON lines: rpcrdma help json
`

const helpNFSPing = `Connect to an NFS server and repeat a null call of each version, as a check before a mount.

Usage: rpcrdma nfsping [flags] HOST[:PORT]

Examples:
  rpcrdma nfsping -c 3 storage.example.net
  rpcrdma nfsping -vers 3 -i 100ms storage.example.net:20049
  rpcrdma nfsping -prog 100005 -vers 1,2,3 storage.example.net
  rpcrdma nfsping -json -c 1 storage.example.net

nfsping works with any server of NFS over RDMA that has the transport of -provider. It first
prints the private data that the two ends exchanged (RFC 8797), the inline thresholds, and the
number of RDMA Reads that each end may have in progress, then the time and the credits of each
reply. A version that the server does not have (PROG_MISMATCH), or a program (PROG_UNAVAIL), is
reported once. The exit code is 0 if the server has one of the versions and answered all of its
calls, and 4 if it has none of the versions.

Flags:
  -c N           stop after N calls of each version; default 0: run until interrupted
  -i DURATION    interval between rounds of calls; default 1s
  -W DURATION    time limit for the connection and for each reply; default 5s
  -prog N        program number; default 100003, NFS
  -vers LIST     program versions, with commas between them; default 3,4
  -q             print the summary only
  -json          print JSON lines: rpcrdma help json
`

const helpPerf = `Measure calls to a server started by rpcrdma serve. Without HOST, perf starts a server itself.

Usage: rpcrdma perf [flags] [HOST[:PORT]]

Examples:
  rpcrdma perf                                   client and server in this process
  rpcrdma perf -provider mem -t 3s               the same for 3 seconds, without TCP
  rpcrdma perf -t 5s localhost                   latency: 128 bytes, one call at a time
  rpcrdma perf -depth 32 localhost               rate of small calls
  rpcrdma perf -size 64k -depth 16 localhost     throughput to the server, by RDMA Read
  rpcrdma perf -R -size 1m -depth 8 localhost    throughput from the server, by RDMA Write
  rpcrdma perf -depth 256 -async localhost       the same without a goroutine for each call
  rpcrdma perf -P 4 -depth 32 localhost          128 calls at a time over 4 connections
  rpcrdma perf -versions 2 -size 8k              version 2, to compare with -versions 1

The warm-up, a tenth of -t but at most 1 s, is not counted. Times are measured by the caller,
from before the call until its result is decoded. Quantiles are accurate to 1 %.

Flags:
  -t DURATION    duration of the measurement; default 10s
  -n N           number of calls to measure, instead of -t
  -size BYTES    data per call, with k for KiB or m for MiB, at most 64m; default 128
  -depth N       concurrent calls for each connection; default 1
  -P N           number of connections, of one client that shares its calls between them;
                 default 1
  -R             reverse: the server sends the data
  -bidir         alternate the direction from call to call
  -async         submit the calls, each where the one before it is completed, instead of
                 waiting for each in a goroutine
  -i DURATION    interval of reports; default 1s; 0: report at the end only
  -verify        verify all data; this costs some speed
  -addr IP       without HOST: the address of the server; default 127.0.0.1, and with ibverbs an
                 address of the device's network device
  -W DURATION    time limit for each connection, and for replies after the end; with -n the
                 measurement ends when there was no reply for so long; default 5s
  -histogram     print the distribution of the times
  -http ADDRESS  show a live page there while it runs: [HOST:]PORT, of this machine alone without
                 HOST; docs/monitor.md has a picture
  -q             print the summary only
  -json          print JSON lines: rpcrdma help json
`

const helpServe = `Run a server for ping, perf and conform until interrupted.

Usage: rpcrdma serve [flags] [[HOST:]PORT | unix:PATH | systemd:[NAME]]

Examples:
  rpcrdma serve                      port 20049 on all addresses
  rpcrdma serve 20050                port 20050 on all addresses
  rpcrdma serve localhost:0          any free port; the ready line has its number
  rpcrdma serve -trace ladder.txt localhost:20050
  rpcrdma serve -versions 1,2        each client has the version that it begins with
  rpcrdma serve -tls -cert cert.pem -key key.pem
  rpcrdma serve -carrier tcp 20050   RPC over TCP, for conform and other clients
  rpcrdma serve -carrier tcp unix:/run/rpc.sock
                                     the same at a local socket
  rpcrdma serve -carrier tcp systemd:
                                     the same at the socket that systemd passes; systemd:NAME: the
                                     one of that name
  rpcrdma serve -http 6060           with a live page, at http://127.0.0.1:6060/debug/rpcrdma

When the server accepts connections, it prints the line "ready ADDRESS" to standard error, and
reports it to systemd, if that has started it (Type=notify).
It answers procedure 0 of every program and version, so that ping works with any -prog.

With -tls it reads the files of -cert, -key and -ca again when they are needed, after 5 s or more,
and at SIGHUP at once. What it cannot use is logged, and changes nothing. Connections go on.

Flags:
  -carrier NAME  rdma, tcp or udp; default rdma. The flags of connections over RDMA have no effect
                 with tcp and udp, except that tcp has the TLS flags, too
  -http ADDRESS  show a live page there: [HOST:]PORT, of this machine alone without HOST. It has the
                 connections, calls in progress, times by procedure, and the last warnings
  -q             print errors only
  -json          print JSON lines: rpcrdma help json
`

const helpDevices = `List the RDMA devices of this machine, and what keeps them from being used.

Usage: rpcrdma devices [flags]

Examples:
  rpcrdma devices
  rpcrdma devices -json

For each device devices prints the driver, the firmware, the ports with their state, link layer and
GIDs, and a line "missing" with the command that mends it for each cause that keeps the device from
being used: no library for its driver, no device file, no permission, a port that is down. All that
comes from the kernel, so it works on a machine without rdma-core.

A build with the provider ibverbs (make build-ibverbs) also asks rdma-core. Then devices prints the
limits of each device, and what the provider can do with it: the RDMA Reads at a time; whether memory
is offered to a peer by memory windows or by registering it for each chunk; and remote invalidation.

Flags:
  -json          print JSON lines: rpcrdma help json

Exit codes:
  0    every device can be used
  1    failure of this command
  2    usage error
  3    there is no device, or something is missing
`

const helpSelftest = `Run the acceptance suite on a device, and print a page to send back.

Usage: rpcrdma selftest [flags]

Examples:
  rpcrdma selftest -provider ibverbs=mlx5_0
  rpcrdma selftest -provider ibverbs=siw0 -addr 192.168.1.5
  rpcrdma selftest -provider ibverbs -case "memory/write then send"
  rpcrdma selftest -provider rdmatcp

selftest connects the device to itself and runs each case of the suite in a separate process, so
that a case which hangs costs that case only. Then it measures the latency of small calls, their
rate, and the throughput of large ones, as perf does. It prints one page: the versions, the device
with its firmware, the cases that passed, failed and were skipped, the reason of each failure, and the
figures. A report of hardware that no test here has seen is welcome: send that page.

It needs a build with the provider ibverbs: make build-ibverbs.

Flags:
  -provider NAME   ibverbs, or ibverbs=DEVICE; rdmatcp, iwarp and mem also work; default ibverbs
  -addr IP         address of the device's network device, if it is not found, or has several
  -case NAME       run one case in this process, and print its log
  -v               print the result of each case to standard error as it ends
  -W DURATION      time limit for each case; default 60s
  -json            print the page as a JSON line: rpcrdma help json

Exit codes:
  0    no case failed
  1    failure of this command; with -case: the case failed
  2    usage error
  3    a case failed
`

const helpCompletion = `Print a script that makes a shell complete commands, flags, their values and file names.

Usage: rpcrdma completion bash|zsh|fish

Examples:
  source <(rpcrdma completion bash)
  rpcrdma completion zsh > "${fpath[1]}/_rpcrdma"
  rpcrdma completion fish > ~/.config/fish/completions/rpcrdma.fish
`

const helpJSON = `With -json, commands print JSON objects to standard output, one per line, and so does call with -d -.
Each object has "v": 1 and a "type". Later versions may add fields, and keep those listed here.

  call   value     xdr_type value, and with -d - line: the number of the line with the arguments
         error     may_have_run: whether the server may have executed the procedure. line as above.
                   Of wrong arguments path offset: the place in the value and in its text. Of a
                   refusal reply_stat, and accept_stat, or reject_stat auth_stat; low high: the
                   versions that the server has
  info   info      host rpcbind: the address of its rpcbind; error, if rpcbind did not answer;
                   registrations: their number; services: a list of objects with program name netid
                   address owner, registered: the versions at rpcbind, asked, and if it is false
                   perhaps reason. If it is true: versions, which answered a null call; low high, of
                   PROG_MISMATCH; time_ns, of the first null call; tls, over TCP: offered or not
                   offered; credits and the terms, over RDMA; error, and the fields of a refusal as
                   for call
  ping   start     address provider program version connect_ns, and the terms. version is the
                   program's
         reply     seq time_ns credits
         end       sent received min_ns mean_ns max_ns mdev_ns p99_ns
  nfsping
         start     address provider program versions connect_ns private_data_sent
                   private_data_received initiator_depth responder_resources, and the terms.
                   The private data are hex; the last two are the RDMA Reads at a time of this
                   side and of the server
         reply     version seq time_ns credits
         refused   version reason, and with PROG_MISMATCH low high: the versions of the server
         end       version sent received min_ns mean_ns max_ns mdev_ns p99_ns, for each version
                   that the server has
  perf   start     address provider size_bytes depth connections direction async, and the terms
         interval  from_ns to_ns, and the figures of this interval
         end       took_ns cpu_per_call_ns, and the figures of the whole measurement; with
                   -histogram also histogram, a list of up_to_ns count; with -P also
                   connection_calls, the calls of each connection. Missing if no call was
                   measured
         figures   calls data_bytes calls_per_s bytes_per_s min_ns mean_ns max_ns p50_ns p90_ns p99_ns
                   p999_ns
  selftest
         selftest  provider address version kernel library, device driver protocol firmware, passed
                   skipped took_ns; failures: a list of case message; measurements: a list of name
                   p50_ns p99_ns calls_per_s bytes_per_s, or message if it could not be measured
  all    terms     rpcrdma_version inline_send_bytes inline_recv_bytes segment_max_bytes max_segments
                   reads read_chunks remote_invalidate. segment_max_bytes and max_segments are 0 in
                   version 1, which has no such limits; reads is the number of RDMA Reads at a time,
                   0 if there is no limit, or less than 0 if Reads are not possible
  all    start     with -tls also tls_version tls_cipher_suite tls_server
  serve  ready     address carrier provider
  conform
         case      name section result took_ns; result is ok, fail or skip. expected came: the
                   answers that are allowed and the one that came, or reason of a skip
         end       address carrier program version passed failed skipped took_ns
         ready     with -listen: address carrier provider
         list      with -list: name section carriers test_program: whether it needs the program
                   of conform.x
  devices
         device    device driver transport firmware bus board node_guid, as the kernel has them, and
                   ports: a list of objects with port state physical link_layer rate protocol,
                   pkeys, and gids: a list of index gid gid_type netdev. In a build with the provider ibverbs
                   also, of a port, active_mtu_bytes max_mtu_bytes; limits: an object with max_qp
                   max_qp_wr max_sge max_read_sge max_cq max_cqe max_mr max_mr_size_bytes max_pd
                   max_mw max_message_size_bytes; reads: those at a time; windows
                   remote_invalidate guessable_keys connections: whether it has them
         locked_memory
                   used_bytes, and unless there is no limit limit_bytes: RLIMIT_MEMLOCK
         problem   cause message help
  all    error     stage message help code; code is the exit code: rpcrdma help exit-codes
`

const helpDevice = `
Flags of connections over RDMA, the same for info, ping, nfsping, perf and serve:
` + helpRDMA + helpTLS

const helpRDMA = `  -provider NAME   rdmatcp: RDMA framed in TCP; iwarp: iWARP over TCP, which Linux and RDMA hardware
                   speak; mem: in this process only; ibverbs, or ibverbs=DEVICE: an RDMA device of
                   this machine, in a program built by make build-ibverbs (rpcrdma devices). The
                   default is rdmatcp, and iwarp for nfsping
  -versions LIST   versions of RPC-over-RDMA, the preferred one first: 1, 2, or 2,1; default 1. The
                   client offers the first, and takes the other if the server refuses it. A server
                   takes the version of the client's first message, and the order has no effect. A
                   server has half of -W to answer an offer of version 2
  -inline BYTES    inline threshold in each direction, header included; default 5120, which holds
                   4 KiB of data. The peer may have less: the lesser holds. With version 2 in
                   -versions it is at least 4096
  -credits N       credits: concurrent calls per connection; default 32, with perf at least -depth
  -crc on|off      whether iwarp asks for CRCs; default on. They are off if neither side asks
  -trace FILE      write a line for each step, with decoded headers, and the negotiated terms; - is
                   standard error. Steps are numbered; posted Receives and notifications are
                   counted, but not written
  -pcap FILE       write all messages, with their data, as a pcapng file for Wireshark, which needs
                   tools/wireshark/rpcrdma2.lua for version 2, and a file of xdrgen wireshark for
                   programs that it does not know. Over TCP not with -tls
  -limit BYTES     size limit of each of these files; default 1024m; 0: no limit
`

const helpTLS = `  -tls             use TLS, 1.3 or later, with rdmatcp and iwarp
  -cert FILE       certificate of this side in PEM, with its authorities' certificates; required for
                   serve. perf without HOST makes one
  -key FILE        its private key in PEM; default: in the file of -cert
  -ca FILE         authorities in PEM. The peer must have a certificate of one of them, also a
                   client of serve. The default is those of the system for servers, and none for
                   clients, which then need no certificate
  -tls-name NAME   name that the server's certificate must have; default HOST
  -insecure        accept any certificate of the server: the connection is encrypted, but anyone can
                   be at its other end
`

const helpExit = `
Exit codes:
  0    success; for ping and nfsping: all calls were answered
  1    failure: no connection, an interrupt before there was a result, or an error of this command
  2    usage error
  3    call: the interface file or the arguments are wrong; nothing was sent. devices: there is no
       device, or something is missing
  4    the peer answered with an error, or has no version in common; for call: the server refused the
       call, and the message has the status of RFC 5531 section 9, or its results do not fit
  5    timeout: the peer did not answer. A call that was sent may have been executed
  6    call: the connection was lost, or an interrupt came, after the call was sent: the server may
       have executed it
`
