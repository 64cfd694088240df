package kubeapiserver

import "github.com/spf13/pflag"

// unusedFlag is a flag that is parsed and has no effect.
type unusedFlag struct {
	name string
	kind kind
}

// kind is the kind of the value of a flag.
type kind int

const (
	text kind = iota
	boolean
	integer
	duration
	list
)

func (f unusedFlag) add(fs *pflag.FlagSet) {
	const usage = "Has no effect."
	switch f.kind {
	case boolean:
		fs.Bool(f.name, false, usage)
	case integer:
		fs.Int64(f.name, 0, usage)
	case duration:
		fs.Duration(f.name, 0, usage)
	case list:
		fs.StringSlice(f.name, nil, usage)
	default:
		fs.String(f.name, "", usage)
	}
}
