// Package filetimes sets the times of files without following symbolic links.
package filetimes
