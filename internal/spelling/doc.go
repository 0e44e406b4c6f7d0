// Package spelling proposes names for a word that is not one of them: for a type in an interface
// file, for a command and for a flag.
package spelling
