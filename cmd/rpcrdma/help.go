package main

import "runtime/debug"

// help returns the text on a topic.
func help(topic string) (text string, ok bool) {
	switch topic {
	case "":
		return helpMain, true
	case "ping":
		return helpPing + helpDevice + helpExit, true
	case "perf":
		return helpPerf + helpDevice + helpExit, true
	case "serve":
		return helpServe + helpDevice + helpExit, true
	case "completion":
		return helpCompletion, true
	case "version":
		return "Usage: rpcrdma version\n\nPrint the version of this tool.\n", true
	case "json":
		return helpJSON, true
	case "exit-codes":
		return helpExit[1:], true
	}
	return "", false
}

const helpMain = `rpcrdma tries RPC over RDMA (RFC 8166), with no hardware needed.

Examples:
  rpcrdma serve                  a server to try with, on port 20049
  rpcrdma ping localhost         is it alive, and what was agreed on
  rpcrdma perf localhost         how long does a call take
  rpcrdma perf -size 1m -depth 8 localhost
                                 how much data goes through

Commands:
  ping        connect, and make a call that does nothing, again and again
  perf        measure calls: time, rate, throughput
  serve       answer both
  completion  print a script that completes command lines
  version     print the version of this tool

Further help: rpcrdma help COMMAND, json, exit-codes
`

const helpPing = `Connect to a server and call its procedure 0, which does nothing, again and again.

Usage: rpcrdma ping [flags] HOST[:PORT]

Examples:
  rpcrdma ping -c 3 localhost
  rpcrdma ping -prog 100003 -vers 4 storage.example.net:20049
  rpcrdma ping -json -c 1 localhost

A connection that cannot be made is reported by the stage that failed: name,
connection, call.

Flags:
  -c N           stop after N calls; 0, the default: at the first signal
  -i DURATION    pause between calls; default 1s
  -W DURATION    how long to wait for the connection, and for each reply; default 5s
  -prog N        program; default 100003, which is NFS
  -vers N        version of the program; default 3
  -q             print the summary only
  -json          print JSON lines: rpcrdma help json
`

const helpPerf = `Measure calls to a server that rpcrdma serve started, or within this process.

Usage: rpcrdma perf [flags] [HOST[:PORT]]

Examples:
  rpcrdma perf                                   within this process
  rpcrdma perf -provider rdmatcp -t 3s           the same, over TCP
  rpcrdma perf -t 5s localhost                   128 bytes, one at a time: latency
  rpcrdma perf -depth 32 localhost               the rate of small calls
  rpcrdma perf -size 64k -depth 16 localhost     data to the server, by RDMA Read
  rpcrdma perf -R -size 1m -depth 8 localhost    data from it, by RDMA Write

A tenth of the time, 1 s at most, warms up and is not counted. Times are those of the
whole call, as the caller sees them; the quantiles are exact to 1 %.

Flags:
  -t DURATION    how long to measure; default 10s
  -n N           how many calls to measure, instead of -t
  -size BYTES    data of a call, with k or m for KiB and MiB; default 128
  -depth N       calls at a time on each connection; default 1
  -P N           connections; default 1
  -R             data comes from the server
  -bidir         every other call does
  -i DURATION    report as often as that; default 1s; 0: at the end only
  -verify        compare all data, at the price of some speed
  -W DURATION    how long to wait for a connection; default 5s
  -histogram     print how the times are distributed
  -q             print the summary only
  -json          print JSON lines: rpcrdma help json
`

const helpServe = `Serve ping and perf until the first signal.

Usage: rpcrdma serve [flags] [[HOST:]PORT]

Examples:
  rpcrdma serve                      port 20049 of all addresses
  rpcrdma serve 20050                another port of them
  rpcrdma serve localhost:0          some free port; the ready line tells which
  rpcrdma serve -trace ladder.txt localhost:20050

When it serves it prints a line "ready ADDRESS" on the standard error stream.
Procedure 0 of every program and version is answered.

Flags:
  -q             print nothing but errors
  -json          print JSON lines: rpcrdma help json
`

const helpCompletion = `Print a script by which a shell completes commands, flags, their values and files.

Usage: rpcrdma completion bash|zsh|fish

Examples:
  source <(rpcrdma completion bash)
  rpcrdma completion zsh > "${fpath[1]}/_rpcrdma"
  rpcrdma completion fish > ~/.config/fish/completions/rpcrdma.fish
`

const helpJSON = `With -json ping, perf and serve print objects, one a line, on the standard output stream. Each has
"v": 1 and a type. Fields may be added; those that are here stay.

  ping   start     address provider program version connect_ns inline_send_bytes inline_recv_bytes
                   remote_invalidate
         reply     seq time_ns credits
         end       sent received min_ns mean_ns max_ns mdev_ns p99_ns
  perf   start     address provider size_bytes depth connections direction inline_send_bytes
                   inline_recv_bytes
         interval  from_ns to_ns, and the figures of that time
         end       took_ns cpu_per_call_ns, the figures of all, and with -histogram
                   histogram: a list of up_to_ns count; no end if no call was measured
         figures   calls data_bytes calls_per_s bytes_per_s min_ns mean_ns max_ns p50_ns p90_ns p99_ns
                   p999_ns
  serve  ready     address provider
  all    error     stage message help code: the exit code, which rpcrdma help exit-codes explains
`

const helpDevice = `
Flags of all commands:
  -provider NAME   rdmatcp (the default): RDMA framed in TCP; mem: within this process
  -inline BYTES    what goes and comes without RDMA at most, header included; default 4096
  -credits N       calls at a time on a connection at most; default 32, for perf -depth
  -trace FILE      write what happens, a line each, with decoded headers; - is standard error
  -pcap FILE       write the messages as a pcapng file, which Wireshark reads, with all their data
  -limit BYTES     how large each of these files may become; default 1024m; 0: as large as it likes
`

const helpExit = `
Exit codes:
  0    done; for ping: all calls were answered
  1    failed: no connection, or this tool
  2    the command line is wrong
  4    the peer answered with an error
  5    no answer in time
`

// version tells the module's version and the toolchain.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "rpcrdma, version unknown"
	}
	text := "rpcrdma " + info.Main.Version + " " + info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
