// Package cputime measures the processor time of this process.
package cputime
