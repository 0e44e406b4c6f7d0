// Command readwrite makes one WRITE-like and one READ-like call over RDMA, and prints every verb
// that client and server use. Both run in this process, connected by the provider mem; the server's
// file is a slice.
//
//	go run ./examples/readwrite
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

const usage = `usage: readwrite

makes one WRITE-like and one READ-like call over RDMA, within this process, and
prints every verb that client and server use. It has no flags. A line such as

   56 server     qp2    post       read id 0x1, 21000 bytes in 1 from key 0x...

has the number of the step, the device, the queue pair, the verb, and what it is
about: the server posts an RDMA Read of 21000 bytes, into one range of its
memory, from the memory that the client has registered under that key.

To read next: main.go of this example, then examples/filestore, which uses the
types of a .x file.
`

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage) }
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "readwrite: found %q, expected no arguments\n", flag.Args())
		os.Exit(2)
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "readwrite:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	ctx := context.Background()
	fabric := mem.New(nil)
	clientDev, err := fabric.Open("client", nil)
	if err != nil {
		return err
	}
	serverDev, err := fabric.Open("server", nil)
	if err != nil {
		return err
	}
	rec := trace.NewRecorder(1000)
	tracer := trace.New(trace.Config{Sink: rec.Add})

	// 1. Server and client. Dial and Listen accept a device of any provider.
	var file []byte
	answered := make(chan error, 1) // gets the result of Reply, when the file may change again
	server, err := rdmaio.Listen(ctx, tracer.Device(serverDev), "here", rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(serve(r, &file), func(err error) { answered <- err })
	}), &rdmaio.Config{Credits: 8})
	if err != nil {
		return err
	}
	defer server.Close()
	client, err := rdmaio.Dial(ctx, tracer.Device(clientDev), "here", &rdmaio.Config{Credits: 16})
	if err != nil {
		return err
	}
	defer client.Close()
	shown := len(rec.Events())
	show := func(title string) {
		fmt.Fprintf(out, "\n%s\n", title)
		for _, e := range rec.Events()[shown:] {
			if e.Kind != trace.Arm && e.Kind != trace.Notify {
				fmt.Fprintln(out, e)
			}
		}
		shown = len(rec.Events())
		s := client.Stats()
		fmt.Fprintf(out, "      credits: %d in flight, %d granted\n", s.InFlight, s.Granted)
	}

	// 2. WRITE: the data stays in our slice, and the server fetches it by RDMA Read.
	data := bytes.Repeat([]byte("all work and no copy "), 1000)
	msg := begin(1, 0, opWrite)
	msg = binary.BigEndian.AppendUint32(msg, uint32(len(data)))
	item := xdr.Item{Position: uint64(len(msg)), Inline: len(msg), Data: data}
	if _, err := client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: msg, Items: []xdr.Item{item}}}); err != nil {
		return err
	}
	if err := <-answered; err != nil {
		return err
	}
	show(fmt.Sprintf("WRITE of %d bytes", len(data)))

	// 3. READ: the server puts the data in our slice by RDMA Write.
	buf := make([]byte, 32<<10)
	reply, err := client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: begin(2, 0, opRead)}, Results: [][]byte{buf}})
	if err != nil {
		return err
	}
	if err := <-answered; err != nil {
		return err
	}
	show(fmt.Sprintf("READ into a buffer of %d bytes", len(buf)))
	got := reply.Items[0].Data
	fmt.Fprintf(out, "\nread %d bytes, as written: %v; in the caller's own memory: %v\n", len(got), bytes.Equal(got, data), &got[0] == &buf[0])
	return nil
}

const opWrite, opRead = 7, 6

// begin returns the head of a message of this protocol: XID, message type, operation.
func begin(xid, msgType, op uint32) (b []byte) {
	for _, w := range []uint32{xid, msgType, op} {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// serve returns the reply to a Call. In a WRITE and in the reply to a READ, a counted opaque
// follows the head.
func serve(r *rdmaio.Request, file *[]byte) rdmaio.Message {
	xid, op := binary.BigEndian.Uint32(r.Message), binary.BigEndian.Uint32(r.Message[8:])
	reply := begin(xid, 1, op)
	if op == opWrite {
		n := binary.BigEndian.Uint32(r.Message[12:])
		*file = append((*file)[:0], r.Message[16:16+n]...)
		return rdmaio.Message{Inline: reply}
	}
	reply = binary.BigEndian.AppendUint32(reply, uint32(len(*file)))
	return rdmaio.Message{Inline: reply, Items: []xdr.Item{{Position: uint64(len(reply)), Inline: len(reply), Data: *file}}}
}
