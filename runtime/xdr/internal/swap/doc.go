// Package swap copies arrays of numbers between big-endian order, that of the wire (RFC 4506 §4),
// and the order of the machine. On a big-endian machine that is a plain copy.
//
// Vector instructions reverse the bytes: NEON on every arm64 processor, and AVX2 on those of amd64
// that have it. Other machines, and builds with the tag purego, take eight bytes at a time. So do
// builds with a race detector or a sanitizer: these do not see what assembly reads and writes.
package swap
