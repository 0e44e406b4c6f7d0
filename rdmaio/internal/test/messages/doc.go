// Package messages tests the shapes of Calls and Replies in version 1: inline, in chunks, long, or
// with a legacy read list. Whatever the shape, the same bytes arrive, in the memory that the
// caller offered.
package messages
