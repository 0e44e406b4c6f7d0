package main

// carrierMutants are in how the carriers over sockets read and keep Calls.
var carrierMutants = []mutant{
	// The read buffer of a connection over TCP.
	{"a connection that rests keeps its read buffer", "runtime/oncrpc/tcp/input.go", "		in.rest()\n", "", tcpTests},
	{"a part of a mark is lost in a wait", "runtime/oncrpc/tcp/input.go", "		copy(in.few[:], in.memory[in.from:in.to])\n", "", tcpTests},
	{"a read buffer with bytes is given back", "runtime/oncrpc/tcp/input.go", "in.pooled != nil && n <= markSize {", "in.pooled != nil {", tcpTests},
	{"a server has any number of large read buffers", "runtime/oncrpc/tcp/input.go", "in.large.Add(1) > mostLarge {", "in.large.Add(1) < 0 {", tcpTests},
	{"small read buffers count as large ones", "runtime/oncrpc/tcp/input.go", "len(*p) == largeBuffer {", "len(*p) >= readBuffer {", tcpTests},
	{"a read after a long record is long", "runtime/oncrpc/tcp/input.go", "	if !in.short {\n", "	if false {\n", tcpTests},
	{"all records count as long", "runtime/oncrpc/tcp/record.go", "fragments, len(buf) < readBuffer", "fragments, len(buf) < 0", tcpTests},
	{"a long read is copied", "runtime/oncrpc/tcp/input.go", "		if len(b) >= readBuffer {\n", "		if len(b) < 0 {\n", tcpTests},
	{"a connection that is down keeps its read buffer", "runtime/oncrpc/tcp/conn.go", "	c.in.r.release()\n", "", tcpTests},
}
