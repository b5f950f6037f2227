// SPDX-License-Identifier: MIT

// The errors of the format, section 18 of format-spec.md, and their kinds.

package bloomfile

import "fmt"

// A Kind groups errors by the remedy. errors.Is(err, bloomfile.Damaged) holds for every error of that kind.
type Kind string

// The kinds of errors.
const (
	Damaged  Kind = "damaged"  // rebuild the filter, or copy it again
	Foreign  Kind = "foreign"  // another file belongs here
	Newer    Kind = "newer"    // update this module
	State    Kind = "state"    // open it again, seal it, or wait
	Usage    Kind = "usage"    // a bug in the caller
	Capacity Kind = "capacity" // too many keys, or an impossible rate
	System   Kind = "system"   // the environment
)

// Error returns the name of the kind.
func (k Kind) Error() string { return string(k) }

// Error is an error of the format. Compare with errors.Is: the variables below are the only values.
type Error struct {
	name, text string
	kind       Kind
}

// Error returns the meaning of the error.
func (e *Error) Error() string { return e.text }

// Name returns the name of the error in the specification, such as BLOOMFILE_EPAGE.
func (e *Error) Name() string { return "BLOOMFILE_" + e.name }

// Kind returns the kind of the error.
func (e *Error) Kind() Kind { return e.kind }

// Is reports whether target is the kind of the error.
func (e *Error) Is(target error) bool { return target == e.kind }

// One variable for each error of section 18.
var (
	ErrEmpty         = &Error{"EEMPTY", "the file has no bytes", Damaged}
	ErrMagic         = &Error{"EMAGIC", "not a bloomfile filter", Foreign}
	ErrTextMode      = &Error{"ETEXTMODE", "a transfer in text mode changed the file", Damaged}
	ErrTruncated     = &Error{"ETRUNCATED", "bytes are missing at the end", Damaged}
	ErrForm          = &Error{"EFORM", "impossible header size", Damaged}
	ErrHeader        = &Error{"EHEADER", "the header is damaged", Damaged}
	ErrVersion       = &Error{"EVERSION", "a later version of the format", Newer}
	ErrFeature       = &Error{"EFEATURE", "an unknown feature or kind of keys", Newer}
	ErrLayout        = &Error{"ELAYOUT", "an unknown layout", Newer}
	ErrHash          = &Error{"EHASH", "another hash function, or the hash function of an application", Foreign}
	ErrSelfTest      = &Error{"ESELFTEST", "the writer hashes differently", Foreign}
	ErrHashCount     = &Error{"EHASHCOUNT", "the number of positions is out of range", Damaged}
	ErrBits          = &Error{"EBITS", "the number of bits is out of range", Damaged}
	ErrOffset        = &Error{"EOFFSET", "offset or size of the body contradict the number of bits", Damaged}
	ErrCapacity      = &Error{"ECAPACITY", "the capacity is out of range", Damaged}
	ErrRate          = &Error{"ERATE", "the rate is out of range", Damaged}
	ErrUnfolded      = &Error{"EUNFOLDED", "the size before folding is not a multiple of the size", Damaged}
	ErrLabel         = &Error{"ELABEL", "the label is not clean text", Damaged}
	ErrTrailing      = &Error{"ETRAILING", "bytes follow the filter", Damaged}
	ErrRecord        = &Error{"ERECORD", "the commit records are damaged", Damaged}
	ErrState         = &Error{"ESTATE", "a commit record contradicts itself", Damaged}
	ErrPoisoned      = &Error{"EPOISONED", "a live filter that could not be written to disk", State}
	ErrSealed        = &Error{"ESEALED", "a sealed filter cannot be changed", State}
	ErrLive          = &Error{"ELIVE", "a live filter, which this module does not read: seal a copy (bfseal FILE COPY)", State}
	ErrUnclean       = &Error{"EUNCLEAN", "a crash may have lost keys", State}
	ErrNoBoot        = &Error{"ENOBOOT", "the boot of the machine is unknown", System}
	ErrFileSystem    = &Error{"EFILESYSTEM", "a live filter on a file system that other hosts may change", System}
	ErrPage          = &Error{"EPAGE", "a page is damaged", Damaged}
	ErrBody          = &Error{"EBODY", "the body contradicts the header", Damaged}
	ErrChanged       = &Error{"ECHANGED", "the open file was changed in place", State}
	ErrAbsent        = &Error{"EABSENT", "the key was never added", Usage}
	ErrFull          = &Error{"EFULL", "over capacity", Capacity}
	ErrNotCompact    = &Error{"ENOTCOMPACT", "not a compact filter", Damaged}
	ErrSeries        = &Error{"ESERIES", "not the right layer of the series", Foreign}
	ErrMissingLayer  = &Error{"EMISSINGLAYER", "a layer of the series is missing", Damaged}
	ErrIsSeries      = &Error{"EISSERIES", "a series, where a single filter is needed", Usage}
	ErrIsRibbon      = &Error{"EISRIBBON", "a ribbon filter, which only its keys can make again", Usage}
	ErrSlice         = &Error{"ESLICE", "the header of the slice contradicts itself", Damaged}
	ErrIsSlice       = &Error{"EISSLICE", "a slice, where a whole filter is needed", Usage}
	ErrIncomplete    = &Error{"EINCOMPLETE", "the slices are not all of one filter", Foreign}
	ErrFactor        = &Error{"EFACTOR", "the factor does not divide the size", Usage}
	ErrOverRate      = &Error{"EOVERRATE", "the rate of the result is too high", Capacity}
	ErrDiffLayout    = &Error{"EDIFFERENTLAYOUT", "the layouts differ", Foreign}
	ErrDiffHash      = &Error{"EDIFFERENTHASH", "the hash functions differ", Foreign}
	ErrDiffHashCount = &Error{"EDIFFERENTHASHCOUNT", "the numbers of positions differ", Foreign}
	ErrDiffSeed      = &Error{"EDIFFERENTSEED", "the seeds differ", Foreign}
	ErrKeyKind       = &Error{"EKEYKIND", "the keys are of another kind", Foreign}
	ErrIsCounting    = &Error{"EISCOUNTING", "counting filters have no intersection", Usage}
	ErrNotCounting   = &Error{"ENOTCOUNTING", "only counting filters have a projection", Usage}
	ErrDiffBits      = &Error{"EDIFFERENTBITS", "the sizes differ", Foreign}
	ErrDiffForm      = &Error{"EDIFFERENTFORM", "the forms differ", Foreign}
	ErrUnreachable   = &Error{"EUNREACHABLE", "no size reaches this rate for this many keys", Capacity}
	ErrReplaced      = &Error{"EREPLACED", "the path names another file", State}
	ErrPatch         = &Error{"EPATCH", "not a patch, or a damaged patch", Damaged}
	ErrDiffBase      = &Error{"EDIFFERENTBASE", "a patch for another filter", Foreign}
)

// Errors of this module, which are not errors of the format.
var (
	// ErrClosed is the sticky error of a lookup after Close, or in the zero Filter. The lookup returned "maybe".
	ErrClosed error = &ownError{"the filter is closed, or was never opened", State}
	// ErrParams is the error of parameters out of range, and of filters too large for this process.
	ErrParams error = &ownError{"a parameter is out of range", Usage}
)

type ownError struct {
	text string
	kind Kind
}

func (e *ownError) Error() string { return e.text }

func (e *ownError) Is(target error) bool { return target == e.kind }

// PageError is ErrPage with the number of the page.
type PageError struct {
	Layer int    // of a series, from 0
	Page  uint64 // of the layer, from 0
}

func (e *PageError) Error() string {
	return fmt.Sprintf("page %d of layer %d is damaged: lookups in it return \"maybe\"", e.Page, e.Layer)
}

// Unwrap returns ErrPage.
func (e *PageError) Unwrap() error { return ErrPage }
