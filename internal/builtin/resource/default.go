package resource

// Default sets a field that is left out.
func Default[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}
