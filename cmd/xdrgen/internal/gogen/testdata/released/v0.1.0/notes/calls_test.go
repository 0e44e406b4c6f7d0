package notes_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/testdata/released/v0.1.0/notes"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/gogen/testdata/released/v0.1.0/notes/notesrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// one has one note.
type one struct{ note notes.Note }

func (o *one) Put(_ *rpc.Request, args *notes.Note) error {
	o.note = notes.Note{Name: bytes.Clone(args.Name), Text: bytes.Clone(args.Text)}
	return nil
}

func (o *one) Get(_ *rpc.Request, args *notes.NoteName, res *notes.GetRes) error {
	if !bytes.Equal(*args, o.note.Name) {
		res.Status = notes.NoteStatusUnknown
		return nil
	}
	res.Found = o.note
	return nil
}

func (*one) List(*rpc.Request, *notes.NoteNames) error { return rpc.Unimplemented }

// A client and a server of the release call each other, and calls can be submitted.
func TestStubsOfTheReleaseCall(t *testing.T) {
	conn := mem.New(rpc.NewHandler(nil, notesrpc.NewService(&one{})), nil)
	defer conn.Close()
	c := notesrpc.NewClient(conn, nil)
	if err := c.Put(context.Background(), &notes.Note{Name: notes.NoteName("a"), Text: []byte("b")}); err != nil {
		t.Fatal(err)
	}
	var res notes.GetRes
	name, done := notes.NoteName("a"), make(chan error, 1)
	if err := c.GetSubmit(context.Background(), &name, &res, nil, func(err error) { done <- err }); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || string(res.Found.Text) != "b" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := c.List(context.Background()); err == nil {
		t.Error("a procedure that is not implemented has a result")
	}
}
