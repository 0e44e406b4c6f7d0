package main

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/replycache"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

// A service is tested without a network, encoding and decoding included.
func TestBoard(t *testing.T) {
	conn := mem.New(rpc.NewHandler(nil, notesrpc.NewService(&board{texts: map[string][]byte{}})), nil)
	defer conn.Close()
	board := notesrpc.NewClient(conn, nil)

	if err := board.Put(context.Background(), &notes.Note{Name: notes.NoteName("a"), Text: []byte("b")}); err != nil {
		t.Fatal(err)
	}
	res, err := board.Get(context.Background(), notes.NoteName("a"))
	if err != nil || string(res.Found.Text) != "b" {
		t.Errorf("%v, %v", res, err)
	}
	res, err = board.Get(context.Background(), notes.NoteName("c"))
	if err != nil || res.Status != notes.NoteStatusUnknown {
		t.Errorf("%v, %v", res, err)
	}
}

// counter counts how often notes are put.
type counter struct {
	board
	puts atomic.Int64
}

func (c *counter) Put(r *rpc.Request, args *notes.Note) error {
	c.puts.Add(1)
	return c.board.Put(r, args)
}

// No note is put twice, whatever happens to the connections: the server may learn of a loss two
// minutes later than the client. Without the reply cache it fails.
func TestPutOnce(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			service := &counter{board: board{texts: map[string][]byte{}}}
			handler := replycache.New(rpc.NewHandler(nil, notesrpc.NewService(service)), nil)
			network, err := mem.NewNetwork(handler, &mem.NetworkConfig{Fault: mem.Random(seed, 0.2)})
			if err != nil {
				t.Fatal(err)
			}
			defer network.Close()
			client, err := network.NewClient(&tcp.ClientConfig{Retransmits: 100})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			board := notesrpc.NewClient(client, nil)
			for range 20 {
				if err := board.Put(context.Background(), &notes.Note{Name: notes.NoteName("a")}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if n := service.puts.Load(); n != 20 {
				t.Errorf("seed %d: 20 calls put %d notes", seed, n)
			}
		})
	}
}
