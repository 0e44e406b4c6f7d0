// Package wild writes random interfaces with everything that XDR can express, most of it unlikely:
// bounds of 0 and 2^32-1, chains of typedefs, lists of all shapes, types that contain themselves,
// unions with any discriminant (ADR 0033). Only tests import it.
package wild
