package oci

import (
	"fmt"
	"io"
)

// Secret is a credential's second half. Printed or encoded in any way it is ***.
type Secret string

// Format writes ***.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// MarshalText is ***.
func (Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }
