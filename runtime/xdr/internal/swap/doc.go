// Package swap copies arrays of numbers between the wire's big-endian order (RFC 4506 §4) and the
// machine's order. On a big-endian machine that is a plain copy.
//
// Vector instructions reverse the bytes: NEON on every arm64 processor, and AVX2 on amd64
// processors that have it. Other machines, and builds with the tag purego, take eight bytes at a
// time. So do builds with a race detector or a sanitizer: these do not see what assembly reads and
// writes.
package swap
