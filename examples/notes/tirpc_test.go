package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// serverInC starts server.c and returns its port. It ends with the test.
func serverInC(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(xdrtest.Tirpc(t, "notes.x", "testdata/tirpc/server.c", xdrtest.ServerStub))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(port)
}

// Our generated client calls a server of rpcgen and libtirpc, whose replies come in fragments of
// 700 bytes: data of many sizes, and each way to refuse a call (RFC 5531 §9).
func TestServerInC(t *testing.T) {
	port := serverInC(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := tcp.Dial(ctx, "127.0.0.1:"+port, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	board := notesrpc.NewClient(conn, nil)
	if err := board.Null(ctx); err != nil {
		t.Error(err)
	}
	for _, size := range []int{0, 1, 3, 699, 700, 701, 4001, 70_001, 1 << 20} {
		note := &notes.Note{Name: fmt.Append(nil, size), Text: bytes.Repeat([]byte{1, 2, 3, 5, 7}, size/5+1)[:size]}
		if err := board.Put(ctx, note); err != nil {
			t.Fatal(err)
		}
		res, err := board.Get(ctx, note.Name)
		if err != nil || !bytes.Equal(res.Found.Text, note.Text) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for i := range 1000 {
		if err := board.Put(ctx, &notes.Note{Name: fmt.Appendf(nil, "one of many %d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := board.List(ctx); err != nil || len(names) != 1009 {
		t.Errorf("%d names, %v", len(names), err)
	}
	program := notesrpc.Program()
	call := func(number, version, proc uint32, args *oncrpc.Uint32) *oncrpc.ReplyError {
		c := rpc.NewClient(conn, oncrpc.Program{Number: number, Version: version}, nil)
		var refused *oncrpc.ReplyError
		if err := c.Call(ctx, proc, args, nil, nil); !errors.As(err, &refused) {
			t.Errorf("%d %d %d: %v", number, version, proc, err)
			return &oncrpc.ReplyError{}
		}
		return refused
	}
	long := oncrpc.Uint32(1000) // the length of a name that is not there
	for _, tt := range []struct {
		number, version, proc uint32
		accept                oncrpc.AcceptStat
	}{
		{program.Number, 1, 99, oncrpc.ProcUnavail},
		{program.Number, 1, 100, oncrpc.SystemErr},
		{program.Number, 1, notes.ProcGet, oncrpc.GarbageArgs},
		{program.Number, 9, 0, oncrpc.ProgMismatch},
		{program.Number + 1, 1, 0, oncrpc.ProgUnavail},
	} {
		if got := call(tt.number, tt.version, tt.proc, &long); got.Accept != tt.accept || got.Reply != oncrpc.Accepted {
			t.Errorf("%+v: %v", tt, got)
		} else if tt.accept == oncrpc.ProgMismatch && got.Range != (oncrpc.VersionRange{Low: 1, High: 1}) {
			t.Errorf("versions %+v", got.Range)
		}
	}
	for why := oncrpc.AuthStat(1); why <= 7; why++ {
		got := call(program.Number, 1, 100+uint32(why), &long)
		if got.Reply != oncrpc.Denied || got.Reject != oncrpc.AuthError || got.Auth != why {
			t.Errorf("%v: %v", why, got)
		}
	}
	if err := board.Null(ctx); err != nil {
		t.Error(err)
	}
	// libtirpc sends no RPC_MISMATCH: it closes the connection.
	other, err := oncrpc.NewCall(conn.XID(), program.Number, 1, 0, oncrpc.None()).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	other[11] = 3 // the version of RPC
	if _, err = conn.Call(ctx, &oncrpc.Call{Message: oncrpc.Message{Inline: other}}); !errors.Is(err, tcp.ErrPeerClosed) {
		t.Errorf("RPC version 3: %v", err)
	}
}

// picky is a board that refuses some names.
type picky struct{ board }

func (p *picky) Put(r *rpc.Request, args *notes.Note) error {
	what, number, _ := strings.Cut(args.Name.String(), " ")
	switch what {
	case "fail":
		return errors.New("this name fails")
	case "mismatch":
		return &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: 3, High: 5}}
	case "auth":
		why, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		return oncrpc.Refused(oncrpc.AuthStat(why))
	}
	return p.board.Put(r, args)
}

// A client of rpcgen and libtirpc calls our server, in fragments of 500 bytes and in those of its
// default size, and gets each status (RFC 5531 §9).
func TestClientInC(t *testing.T) {
	program := xdrtest.Tirpc(t, "notes.x", "testdata/tirpc/client.c", xdrtest.ClientStub)
	service := notesrpc.NewService(&picky{board{texts: map[string][]byte{}}})
	service.Allow = func(r *rpc.Request) error {
		if r.Cred().Flavor == oncrpc.AuthSys {
			return oncrpc.Refused(oncrpc.AuthStatRejectedCred)
		}
		return nil
	}
	server, err := tcp.Listen(context.Background(), "127.0.0.1:0", rpc.NewHandler(nil, service), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, port).CombinedOutput()
	// The numbers are those of enum clnt_stat, and of auth_stat behind RPC_AUTHERROR.
	const want = `names: 7
names: 7
null: 0
no procedure: 10
garbage: 11
other version: 9 1 1
other program: 8
fail: 12
mismatch: 6 3 5
auth 1: 7 1
auth 2: 7 2
auth 3: 7 3
auth 4: 7 4
auth 5: 7 5
auth 6: 7 6
auth 7: 7 7
auth 8: 7 8
auth 9: 7 9
auth 10: 7 10
auth 11: 7 11
auth 12: 7 12
auth 13: 7 13
auth 14: 7 14
refused credential: 7 2
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%swant\n%s", err, out, want)
	}
}
