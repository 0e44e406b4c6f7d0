// Package quirks has, as data, where RDMA devices and their libraries depart from what libibverbs
// promises.
//
// The provider looks a device up by its driver and transport, and works around what it finds. The
// fake library of package fakelib has a switch for each field, so every workaround has a test
// without hardware.
package quirks
