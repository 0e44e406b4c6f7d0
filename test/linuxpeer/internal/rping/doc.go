// Package rping is the other end of the program rping of librdmacm, over a device of package verbs.
//
// No document has rping's protocol. This package follows its source, librdmacm/examples/rping.c.
// For each ping the client sends the address, the key and the size of a buffer with text, which the
// server reads. After a message of the server, the client sends those of another buffer, to which
// the server writes the text. A message of the server ends the ping.
//
// A message is a Send of 16 bytes, with big-endian numbers:
//
//	8 bytes  address of the buffer
//	4 bytes  key
//	4 bytes  size
package rping
