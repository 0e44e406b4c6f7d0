// Package memory tests how much memory connections use, and its limits: for a Call, a connection, a
// server and the process. Memory follows the bytes that arrive, and is released after a load.
package memory
