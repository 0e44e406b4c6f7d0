package xdr_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/examples/notes/notes"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// A value of a generated type is encoded and decoded. Package notes is made from
// examples/notes/notes.x.
func Example() {
	note := notes.Note{Name: notes.NoteName("hello"), Text: []byte("good morning")}
	b, err := note.AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(b), "bytes, as XDRSize says:", note.XDRSize() == len(b))

	var got notes.Note
	if err := got.UnmarshalBinary(b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(got)

	err = got.UnmarshalBinary(b[:10])
	var fault *xdr.Error
	fmt.Println(errors.As(err, &fault), errors.Is(err, xdr.ErrShort))
	// Output:
	// 28 bytes, as XDRSize says: true
	// note{name: "hello", text: 12 bytes 676f6f64206d6f726e696e67}
	// true true
}
