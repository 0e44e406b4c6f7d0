// Package differ holds generated codecs against those of other compilers: the
// same random values must give the same bytes, and the same mutations of them
// must be refused or give the same bytes again. What differs is explained, in
// docs/differences.md, or is a fault. It has tests only.
package differ
