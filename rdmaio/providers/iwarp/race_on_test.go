//go:build race

package iwarp_test

const raceDetector = true
