// Package release checks what is released: the Go module that go install gets, the image, and what repositories of
// users refer to by name, which are the action and the hook.
package release
