// Package chunk is the arithmetic of chunks: where inline bytes and read chunks
// go in the message that a responder puts together (Plan), how results fill
// write chunks (Fill), what a requester makes of the lists a Reply
// returns (Returned), and how memory is cut into segments (Layout). It moves
// no byte and posts nothing; numbers of the peer are checked in 64 bits and
// against limits before they size anything (R52 to R75, R78 to R87).
package chunk
