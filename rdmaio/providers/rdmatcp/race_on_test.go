//go:build race

package rdmatcp_test

const raceDetector = true
