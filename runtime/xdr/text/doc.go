// Package text prints values of generated types on one line, for logs. The String methods of
// generated types call it.
//
// Fields and enumerators have the names of the .x file. Of a union, only the discriminant and the
// selected arm are printed:
//
//	READ3res{status: NFS3_OK, resok: {count: 5, eof: true, data: 5 bytes 68656c6c6f}}
//
// Strings are quoted. Opaque data is its length and its bytes in hex. Absent optional data is the
// word absent. Floating-point numbers have as many digits as the exact value needs.
//
// The output is bounded. Of opaque data, the first 32 bytes are printed, of a string 128, and of an
// array or list 8 elements:
//
//	data: 4096 bytes 68656c6c6f..
//	name: 1000 bytes "hello.."
//	offsets: [0, 8, 16, 24, 32, 40, 48, 56, 92 more]
//
// The whole is at most 4096 bytes, and ends with two dots if it was cut. Printing takes time and
// memory in proportion to that, also if the value is large or contains itself.
package text
