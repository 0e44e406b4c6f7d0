// Package swap copies arrays of numbers between the order of the wire, which is big-endian (RFC
// 4506 §4), and that of the machine. On a big-endian machine that is a plain copy.
//
// Where the processor has vector instructions, they reverse the bytes: AVX2 on amd64, and NEON on
// arm64, which every processor has. Other machines, and builds with the tag purego, take eight
// bytes at a time. So do builds with a race detector or a sanitizer, which does not see what
// assembly reads and writes.
package swap
