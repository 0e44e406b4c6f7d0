// Package cpuid reports what an x86-64 processor and its system can do. The standard library has
// no public package for that. It is empty for other architectures, and with the tag purego.
package cpuid
