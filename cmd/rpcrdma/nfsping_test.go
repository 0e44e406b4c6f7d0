package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// programs starts a server for some versions of NFS, with the configuration of its connections.
func programs(t *testing.T, cfg *rdmaio.Config, versions ...uint32) string {
	t.Helper()
	dev, err := rdmatcp.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	var services []*rpc.Service
	for _, v := range versions {
		services = append(services, rpc.NewService(oncrpc.Program{Number: 100003, Version: v}))
	}
	s, err := rdmaio.Listen(context.Background(), dev, "127.0.0.1:0", rpc.NewHandler(nil, services...), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

// nfsping reports each version, and a version or program that the server does not have as
// information.
func TestNFSPing(t *testing.T) {
	both := programs(t, &rdmaio.Config{InlineSend: 2048, InlineRecv: 8192, Credits: 5}, 3, 4)
	old := programs(t, nil, 3)
	none := programs(t, nil)
	for _, tt := range []struct {
		name, args, addr string
		code             int
		want             []string
		not              string
	}{
		{
			"both", "-c 2 -i 1ms", both, exitDone,
			[]string{
				"over rdmatcp", "private data sent:     f6ab0e1801000404 (sends up to 5120 bytes, receives up to 5120, remote invalidation: no)",
				"private data received: f6ab0e1801000107 (sends up to 2048 bytes, receives up to 8192, remote invalidation: no)",
				"inline thresholds: 5120 bytes to the server, 2048 bytes from it", "RDMA Reads at a time: 16 of this side, 16 of the server",
				// Stats may be those before the reply: the second call has seen the first grant.
				"version=3 seq=2 credits=5 ", "version=4 seq=2 credits=5 ", "version 3: 2 calls, 2 replies, rtt", "version 4: 2 calls, 2 replies, rtt",
			},
			"PROG",
		},
		{
			"only version 3", "-c 3 -i 1ms", old, exitDone,
			[]string{
				"version=3 seq=3", "version=4 PROG_MISMATCH: the server has version 3",
				"version 3: 3 calls, 3 replies", "version 4: PROG_MISMATCH: the server has version 3",
			},
			"seq=2 PROG",
		},
		{"neither", "-i 1ms", none, exitPeer, []string{"version 3: PROG_UNAVAIL: the server does not have the program", "version 4: PROG_UNAVAIL"}, "rtt"},
		{"another program", "-prog 100005 -vers 3 -q -c 1", both, exitPeer, []string{"version 3: PROG_UNAVAIL"}, "NFSPING"},
		{"version 4 alone", "-vers 4 -c 1", both, exitDone, []string{"version=4 seq=1"}, "version=3"},
		{"quiet", "-q -c 1", both, exitDone, []string{"version 4: 1 call, 1 reply"}, "reply from"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"nfsping", "-provider", "rdmatcp"}, strings.Fields(tt.args)...)
			code, stdout, stderr := try(context.Background(), append(args, tt.addr)...)
			if code != tt.code || stderr != "" {
				t.Errorf("exit %d, %s; expected %d", code, stderr, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("found\n%s\nexpected it to contain %q", stdout, want)
				}
			}
			if strings.Contains(stdout, tt.not) {
				t.Errorf("found\n%s\nexpected it not to contain %q", stdout, tt.not)
			}
		})
	}
	// Once when it is found, and once in the summary.
	if n := strings.Count(text(t, old), "PROG_MISMATCH: "); n != 2 {
		t.Errorf("the refusal is printed %d times, expected 2", n)
	}
}

// text returns the output of three rounds.
func text(t *testing.T, addr string) string {
	t.Helper()
	_, stdout, _ := try(context.Background(), "nfsping", "-provider", "rdmatcp", "-c", "3", "-i", "0", addr)
	return stdout
}

// The JSON lines have the private data, the depths, and a line for each reply, refusal and version.
func TestNFSPingJSON(t *testing.T) {
	addr := programs(t, nil, 3)
	code, stdout, _ := try(context.Background(), "nfsping", "-provider", "rdmatcp", "-json", "-c", "2", "-i", "0", addr)
	all := objects(t, stdout)
	var types []string
	for _, o := range all {
		types = append(types, fmt.Sprint(o["type"], " ", o["version"]))
	}
	if got, want := strings.Join(types, ", "), "start <nil>, reply 3, refused 4, reply 3, end 3"; code != exitDone || got != want {
		t.Fatalf("exit %d, found %s, expected %s", code, got, want)
	}
	start, refused := all[0], all[2]
	if start["private_data_received"] != "f6ab0e1801000404" || start["private_data_sent"] != "f6ab0e1801000404" || start["initiator_depth"] != 16. || start["responder_resources"] != 16. {
		t.Errorf("found %v", start)
	}
	if refused["reason"] != "PROG_MISMATCH" || refused["low"] != 3. || refused["high"] != 3. {
		t.Errorf("found %v", refused)
	}
	if all[4]["sent"] != 2. || all[4]["received"] != 2. {
		t.Errorf("found %v", all[4])
	}
}

// Failures have the exit codes of ping.
func TestNFSPingFails(t *testing.T) {
	closed := listener(t, nil)
	closed.Close()
	mute := listener(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1<<16)); <-t.Context().Done() })
	for _, tt := range []struct {
		name, args, addr string
		code             int
		want             string
	}{
		{"refused", "-c 1", closed.Addr().String(), exitFailed, "no listener"},
		{"mute", "-c 1 -W 100ms", mute.Addr().String(), exitSilent, "no answer in time"},
		{"credential", "-c 1", oncrpcServer(t, func(xid uint32) *oncrpc.Header { return oncrpc.NewAuthError(xid, oncrpc.AuthStatTooWeak) }), exitPeer, "credential refused"},
		{"versions", "-vers 3,x", "localhost", exitUsage, `found "3,x", expected numbers with commas`},
		{"versions twice", "-vers 3,3", "localhost", exitUsage, "each number once"},
		{"wait", "-W 0s", "localhost", exitUsage, "-W must be positive"},
		{"credits", "-credits 0", "localhost", exitUsage, "-credits is 0"},
		{"crc", "-crc off", "localhost", exitUsage, "the provider rdmatcp has no such choice"},
		{"crc maybe", "-crc maybe", "localhost", exitUsage, "crc"},
		{"mem", "-provider mem", "localhost", exitUsage, "within this process only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"nfsping", "-provider", "rdmatcp"}, strings.Fields(tt.args)...)
			code, stdout, stderr := try(context.Background(), append(args, tt.addr)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d\n%s%s\nexpected %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
		})
	}
}

// A server that accepts the connection and answers no Call is silent. On a busy machine the
// connection itself may take longer than the shorter limits.
func TestNFSPingToASilentServerSaysWhichVersion(t *testing.T) {
	addr := oncrpcServer(t, nil)
	for wait := 100 * time.Millisecond; ; wait *= 4 {
		code, stdout, stderr := try(t.Context(), "nfsping", "-provider", "rdmatcp", "-c", "1", "-W", wait.String(), addr)
		if code != exitSilent {
			t.Fatalf("exit %d\n%s%s\nexpected %d", code, stdout, stderr, exitSilent)
		}
		if strings.Contains(stderr, "version 3: ") {
			return
		}
		if wait > leak.Patience() {
			t.Fatalf("with -W %v found %q, expected version 3 in it", wait, stderr)
		}
	}
}

// A signal ends nfsping with its summary.
func TestNFSPingInterrupted(t *testing.T) {
	addr := programs(t, nil, 3)
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs buffer
	done := make(chan int)
	go func() {
		done <- run(ctx, []string{"nfsping", "-provider", "rdmatcp", "-i", "1ms", addr}, environment{stdout: &out, stderr: &errs})
	}()
	for deadline := time.Now().Add(30 * time.Second); strings.Count(out.String(), "seq=") < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if code := <-done; code != exitDone || !strings.Contains(out.String(), "nfsping statistics") {
		t.Errorf("exit %d\n%s%s", code, out.String(), errs.String())
	}
}

// Private data of another form is shown in hex alone.
func TestPrivateData(t *testing.T) {
	ours := binary.BigEndian.AppendUint32(nil, 0xf6ab0e18)
	for _, tt := range []struct {
		b    []byte
		want string
	}{
		{nil, "none"},
		{[]byte("hi"), "6869"},
		{ours, "f6ab0e18"},
		{append(ours[:4:4], 2, 0, 0, 0), "f6ab0e1802000000"},
		{append(ours[:4:4], 1, 1, 0, 255), "f6ab0e18010100ff (sends up to 1024 bytes, receives up to 262144, remote invalidation: yes)"},
	} {
		if got := privateData(tt.b); got != tt.want {
			t.Errorf("found %q, expected %q", got, tt.want)
		}
	}
}

// The zeros that a device adds to private data are not shown, where the data has its own length.
func TestNFSPingLeavesOutPaddingOfPrivateData(t *testing.T) {
	ad := []byte{0xf6, 0xab, 0x0e, 0x18, 1, 0, 4, 4}
	for _, tt := range []struct {
		what       string
		manners    fault.Manners
		sent, want []byte
	}{
		{"an advertisement", fault.PaddedPrivateData, ad, ad},
		{"nothing", fault.PaddedPrivateData, nil, []byte{}},
		{"another form", fault.PaddedPrivateData, []byte("hi"), append([]byte("hi"), make([]byte, 194)...)},
		{"more than an advertisement", fault.PaddedPrivateData, append(ad[:8:8], 0, 7), append(ad[:8:8], append([]byte{0, 7}, make([]byte, 186)...)...)},
		{"zeros of the peer's own", 0, append(ad[:8:8], 0, 0), append(ad[:8:8], 0, 0)},
	} {
		inj := fault.New(fault.Config{Manners: tt.manners})
		net := mem.New(nil)
		var ends [2]verbs.Device
		var qps [2]verbs.QueuePair
		for i, name := range []string{"client", "server"} {
			d, err := net.Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			ends[i] = inj.Device(d)
			qps[i] = newQP(t, ends[i])
		}
		ln, err := ends[1].Listen(t.Context(), "here")
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan error, 1)
		go func() {
			req, err := ln.Accept(t.Context())
			if err == nil {
				_, err = req.Accept(t.Context(), qps[1], &verbs.ConnParams{PrivateData: tt.sent})
			}
			accepted <- err
		}()
		dev := &setupDevice{Device: ends[0]}
		_, err = dev.Dial(t.Context(), "here", qps[0], nil)
		if err := errors.Join(err, <-accepted, ln.Close()); err != nil {
			t.Fatal(err)
		}
		if got := dev.setup.info.PrivateData; !bytes.Equal(got, tt.want) {
			t.Errorf("%s: found %x, expected %x", tt.what, got, tt.want)
		}
	}
}

// newQP returns a queue pair with its own objects, until the end of the test.
func newQP(t *testing.T, d verbs.Device) verbs.QueuePair {
	t.Helper()
	pd, err := d.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 1, MaxRecvWR: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(qp.Close(), cq.Close(), pd.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return qp
}

// Over iWARP, nfsping's default, pings are answered with either value of -crc.
func TestNFSPingIWARP(t *testing.T) {
	addr := serving(t, "-provider", "iwarp", "-crc", "off")
	for _, crc := range []string{"on", "off"} {
		code, stdout, stderr := try(context.Background(), "nfsping", "-crc", crc, "-c", "1", addr)
		if code != exitDone || !strings.Contains(stdout, "over iwarp") || !strings.Contains(stdout, "version 4: 1 call, 1 reply") {
			t.Errorf("-crc %s: exit %d\n%s%s", crc, code, stdout, stderr)
		}
	}
}
