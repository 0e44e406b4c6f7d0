package main

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// board keeps notes in memory. It is a notesrpc.Server: without one of these methods the program
// does not compile.
type board struct {
	mu    sync.Mutex
	texts map[string][]byte
}

// Put keeps a note. The arguments are valid until Put returns, so it copies the text.
func (b *board) Put(_ *rpc.Request, args *notes.Note) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[args.Name.String()] = bytes.Clone(args.Text)
	return nil
}

// Get returns a note, or NOTE_UNKNOWN.
func (b *board) Get(_ *rpc.Request, args *notes.NoteName, res *notes.GetRes) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.texts[args.String()]
	if !ok {
		res.Status = notes.NoteStatusUnknown
		return nil
	}
	res.Found = notes.Note{Name: *args, Text: text}
	return nil
}

// List returns the names of all notes, sorted.
func (b *board) List(_ *rpc.Request, res *notes.NoteNames) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(b.texts)) {
		*res = append(*res, notes.NoteName(name))
	}
	return nil
}
