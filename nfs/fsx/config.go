package fsx

import "slices"

// Op is a kind of operation.
type Op string

// The operations. Compare reads all directories and files. Reopen closes a file and opens it
// again by its name. Size asks for the size of a file.
const (
	Create   Op = "create"
	Read     Op = "read"
	Write    Op = "write"
	Append   Op = "append"
	Truncate Op = "truncate"
	Size     Op = "size"
	Sync     Op = "sync"
	Reopen   Op = "reopen"
	Rename   Op = "rename"
	Link     Op = "link"
	Remove   Op = "remove"
	Compare  Op = "compare"
)

// Config is the configuration of a Tester.
type Config struct {
	// Seed selects the operations.
	Seed uint64

	// Steps is the number of operations that a Run makes. If zero, the default is 1,000. If
	// negative, there is no limit: Run continues until its context is done.
	Steps int

	// MaxFile is the largest size of a file in bytes. If zero, the default is 256 KiB.
	MaxFile int

	// Files is the largest number of file names. If zero, the default is 12.
	Files int

	// Dense leaves out what makes a hole: writes begin at the end of a file at most, and Truncate
	// makes no file longer.
	Dense bool

	// Only lists the operations to use. Create is used as well while there is no file. If empty,
	// all operations are used.
	Only []Op
}

func (c Config) defaults() Config {
	if c.Steps == 0 {
		c.Steps = 1000
	}
	if c.MaxFile <= 0 {
		c.MaxFile = 256 << 10
	}
	if c.Files <= 0 {
		c.Files = 12
	}
	c.Only = slices.Clone(c.Only)
	return c
}
