package rpctest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
)

// TakesSegments checks that a server on a device takes as many segments as it advertises, in each
// kind of chunk: what Terms.MaxSegments says in version 2, and Config.MaxSegments in version 1.
// serve and dial make the ends, which the test closes.
// The server has the SendQueue and MaxSegments of cfg.
func TakesSegments(
	t *testing.T, cfg rdmaio.Config, serve func(rdmaio.Handler, *rdmaio.Config) (*rdmaio.Server, error),
	dial func(addr string, cfg *rdmaio.Config) (*rdmaio.Conn, error),
) {
	t.Helper()
	const segment = 64
	cfg.InlineSend, cfg.InlineRecv = 16<<10, 16<<10
	most := cfg.MaxSegments
	if most == 0 {
		most = 256
	}
	n := most * segment
	for _, version := range []int{1, 2} {
		cfg.Versions = []int{version}
		app := &App{Size: n}
		file := &File{T: t, Data: rdmaiotest.Pattern(n, 1)}
		two := ChunkApp(n/2, n/2)
		ours := cfg
		ours.SegmentSize, ours.SendQueue, ours.Continue = segment, 0, -1
		reply := BigCall(2, 40)
		reply.ReplyBuf = make([]byte, n)
		write := WriteCall(1, 0, rdmaiotest.Pattern(n, 2))
		read := ReadCall(1, 0, make([]byte, n))
		results := ResultsCall(1, n/2, n/2)
		for _, c := range []struct {
			name    string
			handler rdmaio.Handler
			call    *rdmaio.Call
			check   func(r *rdmaio.Reply) bool
		}{
			{"a read list", file, write, func(*rdmaio.Reply) bool { return bytes.Equal(file.Data, write.Items[0].Data) }},
			{"a write chunk", file, read, func(r *rdmaio.Reply) bool {
				got, err := ReadReply(r)
				return err == nil && bytes.Equal(got, file.Data)
			}},
			{"two write chunks", two, results, func(*rdmaio.Reply) bool {
				return bytes.Equal(results.Results[0], rdmaiotest.Pattern(n/2, 0)) && bytes.Equal(results.Results[1], rdmaiotest.Pattern(n/2, 1))
			}},
			{"a reply chunk", app, reply, func(r *rdmaio.Reply) bool { return bytes.Equal(r.Message, ReplyBytes(2, n)) }},
		} {
			name := fmt.Sprintf("version %d, send queue %d, %d segments in %s", version, cfg.SendQueue, most, c.name)
			s, err := serve(c.handler, &cfg)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			conn, err := dial(s.Addr(), &ours)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := conn.Terms().MaxSegments; version == 2 && got != most {
				t.Errorf("%s: the server advertises %d", name, got)
			}
			if r, err := conn.Call(t.Context(), c.call); err != nil || !c.check(r) {
				t.Errorf("%s: %v, or other bytes", name, err)
			}
			if err := errors.Join(conn.Close(), s.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
