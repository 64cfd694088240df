package managedfields

import (
	"strings"
	"testing"
)

func TestManagerName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, manager, userAgent, want string }{
		{name: "given", manager: "me", userAgent: "kubectl/v1", want: "me"},
		{name: "from the user agent", userAgent: "kubectl/v1.37 (linux/amd64)", want: "kubectl"},
		{name: "no slash", userAgent: "curl", want: "curl"},
		{name: "unprintable", userAgent: "a\x00b\u200bc/1", want: "abc"},
		{name: "long", userAgent: strings.Repeat("x", 200) + "/1", want: strings.Repeat("x", 128)},
		{name: "long, of wide runes", userAgent: strings.Repeat("€", 100), want: strings.Repeat("€", 42)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := ManagerName(test.manager, test.userAgent); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
