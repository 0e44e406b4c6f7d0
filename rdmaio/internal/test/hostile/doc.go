// Package hostile tests both ends against peers that break rules or flood: our end answers as the
// rule says or closes the connection with a reason, serves the others, and gives all memory
// back.
package hostile
