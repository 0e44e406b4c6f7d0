package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/golden"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// ping and perf work with each version that the server has, and say which one it is.
func TestPingAndPerfTakeEachVersion(t *testing.T) {
	for _, tt := range []struct {
		server, client string
		want           float64
	}{
		{"1", "1", 1}, {"2", "2", 2}, {"1,2", "2,1", 2}, {"1,2", "1", 1}, {"1", "2,1", 1}, {"2,1", "1,2", 1}, {"2", "2,1", 2},
	} {
		t.Run(tt.server+" "+tt.client, func(t *testing.T) {
			addr := serving(t, "-versions", tt.server)
			code, stdout, stderr := try(context.Background(), "ping", "-c", "1", "-json", "-versions", tt.client, addr)
			if all := objects(t, stdout); code != exitDone || stderr != "" || all[0]["rpcrdma_version"] != tt.want || all[1]["type"] != "reply" ||
				(all[0]["max_segments"] != 0.) != (tt.want == 2) {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
			code, stdout, stderr = try(context.Background(), "perf", "-n", "20", "-t", "1ms", "-verify", "-size", "9000", "-json", "-versions", tt.client, addr)
			if all := objects(t, stdout); code != exitDone || stderr != "" || all[0]["rpcrdma_version"] != tt.want || all[len(all)-1]["calls"] != 20. {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	for _, provider := range []string{"mem", "rdmatcp", "iwarp"} {
		for _, size := range []string{"1", "5000", "100k"} {
			args := []string{"perf", "-n", "50", "-t", "1ms", "-verify", "-bidir", "-depth", "3", "-provider", provider, "-size", size, "-versions", "2"}
			if code, stdout, stderr := try(context.Background(), args...); code != exitDone || !strings.Contains(stdout, "RPC-over-RDMA version 2: 3 at a time") {
				t.Errorf("%v: exit %d\n%s%s", args, code, stdout, stderr)
			}
		}
	}
}

// The text of ping names the version, and -v the terms.
func TestPingTerms(t *testing.T) {
	addr := serving(t, "-versions", "1,2", "-inline", "8k")
	code, stdout, _ := try(context.Background(), "ping", "-c", "1", "-v", "-versions", "2", "-inline", "16k", addr)
	want := "RPC-over-RDMA version 2, inline thresholds: 8192 bytes to the server, 8192 bytes from it\n" +
		"terms: version 2, inline 8192 bytes to the peer and 8192 from it, segments of 2147483647 bytes, 256 segments in a call\n"
	if code != exitDone || !strings.Contains(stdout, want) {
		t.Errorf("exit %d\n%s\nexpected\n%s", code, stdout, want)
	}
	code, stdout, _ = try(context.Background(), "ping", "-c", "1", addr)
	if code != exitDone || !strings.Contains(stdout, "RPC-over-RDMA version 1, inline thresholds: 5120 bytes to the server") || strings.Contains(stdout, "terms") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	const all = "version 1, inline 1024 bytes to the peer and 2048 from it, segments of 3 bytes, 4 segments in a call, 5 RDMA Reads at a time, " +
		"no read chunks to the peer, remote invalidation"
	if got := terms(&rdmaio.Terms{Version: 1, InlineSend: 1024, InlineRecv: 2048, SegmentSize: 3, MaxSegments: 4, Reads: 5, NoReadChunks: true, RemoteInvalidate: true}); got != all {
		t.Errorf("found %q, expected %q", got, all)
	}
	if got := terms(&rdmaio.Terms{Reads: -1}); !strings.HasSuffix(got, ", no RDMA Reads") {
		t.Errorf("found %q", got)
	}
}

// A server without a common version, and one that does not answer version 2, each have their own
// error and exit code.
func TestVersionErrors(t *testing.T) {
	one, two := serving(t), serving(t, "-versions", "2")
	mute := muteServer(t)
	for _, tt := range []struct {
		command, versions, addr string
		code                    int
		want                    []string
	}{
		{"ping", "2", one, exitPeer, []string{"connection to", "no version in common", "supports version 1, this side wants 2", "try: -versions"}},
		{"perf", "2", one, exitPeer, []string{"connection to", "no version in common", "try: -versions"}},
		{"ping", "1", two, exitPeer, []string{"call to", "ERR_VERS: it supports version 2,", "try: -versions"}},
		{"ping", "2,1", mute, exitSilent, []string{"connection to", "did not answer the version offered", "try: -versions 1"}},
		{"perf", "2", mute, exitSilent, []string{"connection to", "did not answer the version offered", "try: -versions 1"}},
	} {
		code, stdout, stderr := try(context.Background(), tt.command, "-W", "500ms", "-versions", tt.versions, tt.addr)
		if code != tt.code {
			t.Errorf("%s -versions %s: exit %d, expected %d: %s%s", tt.command, tt.versions, code, tt.code, stdout, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s -versions %s: found %s, expected it to contain %q", tt.command, tt.versions, stderr, want)
			}
		}
	}
}

// muteServer accepts connections of RDMA, and answers no message.
func muteServer(t *testing.T) string {
	t.Helper()
	addr := serving(t)
	l := listener(t, func(c net.Conn) {
		defer c.Close()
		to, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer to.Close()
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Add(1)
		go func() { // the answers, up to the setup of the connection
			defer wg.Done()
			io.Copy(c, to)
		}()
		b := make([]byte, 4096)
		if n, err := c.Read(b); err == nil {
			to.Write(b[:n])
		}
		io.Copy(io.Discard, c) // until the client closes
		to.(*net.TCPConn).CloseWrite()
	})
	return l.Addr().String()
}

// Each error of the peer has advice, and is in the help.
func TestEachPeerErrorHasAdvice(t *testing.T) {
	text := helpErrors()
	for code := rdmaio.PeerErrVers; code <= rdmaio.PeerErrSystem+1; code++ {
		for _, version := range []uint32{1, 2} {
			e := &rdmaio.PeerError{Version: version, Code: code}
			f := explain("call", "somewhere", &rdmaio.CallError{Err: e})
			if f.code != exitPeer || f.help == "" {
				t.Errorf("%v: exit %d, %q", e, f.code, f.help)
			}
			name, _, named := strings.Cut(strings.TrimPrefix(e.Error(), "rdmaio: peer answered "), ":")
			if known := code <= rdmaio.PeerErrSystem && (version == 2 || code <= rdmaio.PeerErrChunk); known != (named && strings.Contains(text, "\n  "+name+" ")) {
				t.Errorf("%v: in the help: %v", e, !known)
			}
			if known := code <= rdmaio.PeerErrSystem; known && !strings.Contains(text, "try: "+f.help+"\n") {
				t.Errorf("%v: the help lacks %q", e, f.help)
			}
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// The ladder of a short conversation, the same over both providers: the offer, a Call in one Send
// and one in three, and a Call with chunks.
func TestLadderShowsAConversation(t *testing.T) {
	described := regexp.MustCompile(`^ {8}(xid|agreed)`)
	random := regexp.MustCompile(`\b(xid|key|grants) \w+\b`)
	peer := regexp.MustCompile(`agreed with \S+:`)
	for _, provider := range []string{"mem", "rdmatcp"} {
		t.Run(provider, func(t *testing.T) {
			var seen strings.Builder
			for line := range strings.Lines(conversation(t, provider)) {
				if !described.MatchString(line) || strings.Contains(line, "grants alone") {
					continue // when messages come that only grant credits depends on the scheduler
				}
				line = random.ReplaceAllString(strings.TrimLeft(line, " "), "$1 N")
				seen.WriteString(peer.ReplaceAllString(line, "agreed with ADDRESS:"))
			}
			golden.CheckString(t, "testdata/ladder2.txt", seen.String())
		})
	}
}

// conversation returns the ladder of the client's device.
func conversation(t *testing.T, provider string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	network, addr := mem.New(nil), "there"
	open := func(name string) (dev verbs.Device) {
		var err error
		if provider == "mem" {
			dev, err = network.Open(name, nil)
		} else {
			addr = "127.0.0.1:0"
			dev, err = rdmatcp.Open(&rdmatcp.Config{Name: name})
		}
		must(err)
		return dev
	}
	server, client := open("server"), open("client")
	var out buffer
	l := newLadder(&out)
	traced := trace.New(trace.Config{Sink: l.add, Head: ladderHead}).Device(client)
	ctx := context.Background()
	s, err := rdmaio.Listen(ctx, server, addr, rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		b := append(bytes.Clone(r.Message[:4]), make([]byte, binary.BigEndian.Uint32(r.Message[40:]))...)
		b[7] = 1 // REPLY
		r.Reply(rdmaio.Message{Inline: b}, nil)
	}), &rdmaio.Config{Versions: []int{2}, InlineSend: 4096, InlineRecv: 4096})
	must(err)
	c, err := rdmaio.Dial(ctx, traced, s.Addr(), &rdmaio.Config{Versions: []int{2}, Events: l.event, InlineSend: 4096, InlineRecv: 4096})
	must(err)
	for _, size := range []struct{ call, reply int }{{44, 24}, {9000, 5000}, {20000, 20000}} {
		call := make([]byte, size.call)
		for i, w := range []uint32{c.XID(), 0, 2, 100003, 3, 6, 0, 0, 0, 0, uint32(size.reply - 4)} {
			binary.BigEndian.PutUint32(call[4*i:], w)
		}
		_, err := c.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: call}, MaxReply: size.reply})
		must(err)
	}
	for _, closer := range []io.Closer{c, s, client, server} {
		must(closer.Close())
	}
	return out.String()
}
