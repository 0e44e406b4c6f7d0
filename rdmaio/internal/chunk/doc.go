// Package chunk computes with chunks: where inline bytes and read chunks go in a message that a
// responder assembles (Plan), how results fill write chunks (Fill), how many bytes a Reply returned
// in them (Returned), and how memory is cut into segments (Layout). It moves no bytes and posts no
// requests. It checks numbers of the peer in 64 bits and against limits before it allocates by them
// (R52 to R75, R78 to R87).
package chunk
