package main

import (
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/examples/notes/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
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
