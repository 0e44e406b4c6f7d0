//go:build !asan

package rdmatcp_test

const addressSanitizer = false
