package lib

import "fmt"

// LoadError is the error of Open where a library of rdma-core cannot be loaded.
type LoadError struct {
	Library string // "libibverbs.so.1"
	Symbol  string // the function that the library lacks, if it was loaded
	Err     error  // the loader's
}

// Error says which library, and what the loader said.
func (e *LoadError) Error() string {
	if e.Symbol != "" {
		return fmt.Sprintf("%s has no function %s: %v", e.Library, e.Symbol, e.Err)
	}
	return fmt.Sprintf("%s cannot be loaded: %v", e.Library, e.Err)
}

// Unwrap returns the loader's error.
func (e *LoadError) Unwrap() error { return e.Err }
