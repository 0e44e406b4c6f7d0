package tcp

import (
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// Where memory is short, a client that has closed its direction must get a reply in resetTime, if
// one of its Requests and another connection wait.
func TestEndedClientsMakeRoomForMemory(t *testing.T) {
	started := make(chan *Conn, 2)
	h := oncrpc.HandlerFunc(func(r *oncrpc.Request) {
		started <- r.Conn().(*Conn)
		<-r.Context().Done()
		r.Drop(nil)
	})
	s, err := Listen(t.Context(), "127.0.0.1:0", h, &Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	connect := func() (client net.Conn, end *Conn) {
		client, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		call, _ := oncrpc.NewCall(1, 1, 1, 1, oncrpc.None()).AppendBinary(nil)
		if _, err := client.Write(append(binary.BigEndian.AppendUint32(nil, lastFragment|uint32(len(call))), call...)); err != nil {
			t.Fatal(err)
		}
		return client, <-started
	}
	client, ended := connect()
	_, open := connect()
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for !ended.half.late(time.Now().Add(resetTime)) {
		time.Sleep(time.Millisecond)
	}
	since := func() time.Time {
		ended.mu.Lock()
		defer ended.mu.Unlock()
		return ended.half.since
	}()
	if ended.half.late(since.Add(resetTime-1)) || !ended.half.late(since.Add(resetTime)) || open.half.late(since.Add(time.Hour)) {
		t.Error("a client is late too early or not at all")
	}
	for !ended.half.late(time.Now()) {
		time.Sleep(time.Millisecond)
	}
	s.closeEnded([]any{ended, ended})
	s.closeEnded([]any{open})
	if ended.Err() != nil {
		t.Fatalf("no other waits: %v", ended.Err())
	}
	s.closeEnded([]any{open, ended})
	if !errors.Is(ended.Err(), ErrLimit) || open.Err() != nil {
		t.Errorf("the client that ended: %v; the other one: %v", ended.Err(), open.Err())
	}
}
