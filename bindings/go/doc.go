// SPDX-License-Identifier: MIT

// Package bloomfile reads and makes Bloom filters that live in files.
package bloomfile
