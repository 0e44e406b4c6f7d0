//go:build race

package mem_test

const raceDetector = true
