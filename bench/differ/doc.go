// Package differ compares generated codecs with those of other compilers. The same random values
// must give the same bytes, and the same mutations of them must be refused or give the same bytes
// again. Each difference is explained in docs/differences.md, or is a fault. The package has tests
// only.
package differ
