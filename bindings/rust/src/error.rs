// SPDX-License-Identifier: MIT
//! The one error type: a variant for each error of section 18 of the specification.

use core::fmt;

macro_rules! errors {
    ($($variant:ident $name:literal $text:literal;)*) => {
        /// Why a filter was refused, or an operation was not done.
        ///
        /// Section 18 of the specification defines the names, which [`Error::name`] returns.
        /// A refused filter says nothing about any key: treat every key as *maybe*.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum Error {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")] $variant,)*
            /// `BLOOMFILE_EFEATURE`: the image uses an unknown feature; the lowest unknown bit.
            Feature(u32),
            /// `BLOOMFILE_EPAGE`: a page of the body is damaged; its number, counted from 0. In
            /// a series it is counted in its layer, which the error does not name.
            Page(u64),
            /// There is not enough memory.
            Memory,
            /// A call of the operating system failed.
            #[cfg(feature = "std")]
            Io(std::io::Error),
        }

        impl Error {
            /// The name of the error in the specification, or `-` for an error of the system.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Error::$variant => $name,)*
                    Error::Feature(_) => "BLOOMFILE_EFEATURE",
                    Error::Page(_) => "BLOOMFILE_EPAGE",
                    Error::Memory => "-",
                    #[cfg(feature = "std")]
                    Error::Io(_) => "-",
                }
            }
        }

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Error::$variant => f.write_str($text),)*
                    Error::Feature(bit) => write!(f, "unknown feature or kind of keys (bit {bit})"),
                    Error::Page(page) => write!(f, "page {page} is damaged"),
                    Error::Memory => f.write_str("not enough memory"),
                    #[cfg(feature = "std")]
                    Error::Io(error) => error.fmt(f),
                }
            }
        }
    };
}

errors! {
    Empty "BLOOMFILE_EEMPTY" "no bytes";
    Magic "BLOOMFILE_EMAGIC" "not a filter";
    TextMode "BLOOMFILE_ETEXTMODE" "a transfer changed line ends or removed the top bits";
    Truncated "BLOOMFILE_ETRUNCATED" "bytes are missing at the end";
    Form "BLOOMFILE_EFORM" "impossible header size";
    Header "BLOOMFILE_EHEADER" "damaged header";
    Version "BLOOMFILE_EVERSION" "written by a later version";
    Layout "BLOOMFILE_ELAYOUT" "unknown layout";
    Hash "BLOOMFILE_EHASH" "unknown hash function, or not the stated function";
    SelfTest "BLOOMFILE_ESELFTEST" "the writer hashed differently";
    HashCount "BLOOMFILE_EHASHCOUNT" "k is out of range";
    Bits "BLOOMFILE_EBITS" "m is out of range";
    Offset "BLOOMFILE_EOFFSET" "offset or size of the body does not follow from m";
    Capacity "BLOOMFILE_ECAPACITY" "the capacity is out of range";
    Rate "BLOOMFILE_ERATE" "the rate is out of range";
    Unfolded "BLOOMFILE_EUNFOLDED" "m before folding is not a multiple of m";
    Label "BLOOMFILE_ELABEL" "the label is longer than 112 bytes, or not clean text";
    Trailing "BLOOMFILE_ETRAILING" "bytes follow the image";
    Record "BLOOMFILE_ERECORD" "no commit record can be relied on";
    State "BLOOMFILE_ESTATE" "a commit record contradicts itself or the header";
    Poisoned "BLOOMFILE_EPOISONED" "a live filter could not be written to disk";
    Sealed "BLOOMFILE_ESEALED" "sealed filters cannot be changed";
    Live "BLOOMFILE_ELIVE" "live filters are not supported";
    Unclean "BLOOMFILE_EUNCLEAN" "a crash may have lost keys";
    NoBoot "BLOOMFILE_ENOBOOT" "the boot cannot be identified";
    FileSystem "BLOOMFILE_EFILESYSTEM" "live, on a file system that other hosts may change";
    Body "BLOOMFILE_EBODY" "the body contradicts the header";
    Changed "BLOOMFILE_ECHANGED" "the file was written to in place";
    Absent "BLOOMFILE_EABSENT" "the key was never added";
    Full "BLOOMFILE_EFULL" "over capacity";
    NotCompact "BLOOMFILE_ENOTCOMPACT" "not a compact filter, or damaged";
    Series "BLOOMFILE_ESERIES" "a layer belongs to another series or another place";
    MissingLayer "BLOOMFILE_EMISSINGLAYER" "a layer is missing";
    IsSeries "BLOOMFILE_EISSERIES" "a series, where one image is needed";
    IsRibbon "BLOOMFILE_EISRIBBON" "a ribbon filter, which only its keys can make again";
    Slice "BLOOMFILE_ESLICE" "the header of a slice contradicts itself";
    IsSlice "BLOOMFILE_EISSLICE" "a slice, where a whole filter is needed";
    Incomplete "BLOOMFILE_EINCOMPLETE" "not all slices of one filter, or not made from the same keys";
    Factor "BLOOMFILE_EFACTOR" "the factor does not divide the number of blocks or cells";
    OverRate "BLOOMFILE_EOVERRATE" "the rate of the result would be above the limit";
    DifferentLayout "BLOOMFILE_EDIFFERENTLAYOUT" "the layouts differ";
    DifferentHash "BLOOMFILE_EDIFFERENTHASH" "the hash functions differ";
    DifferentHashCount "BLOOMFILE_EDIFFERENTHASHCOUNT" "the k differ";
    DifferentSeed "BLOOMFILE_EDIFFERENTSEED" "the seeds differ";
    KeyKind "BLOOMFILE_EKEYKIND" "the keys are of another kind";
    IsCounting "BLOOMFILE_EISCOUNTING" "counting filters have no intersection";
    NotCounting "BLOOMFILE_ENOTCOUNTING" "only counting filters have a projection";
    DifferentBits "BLOOMFILE_EDIFFERENTBITS" "the m differ, or the places of slices, or the numbers of layers";
    DifferentForm "BLOOMFILE_EDIFFERENTFORM" "one has a header of 4096 bytes, the other of 512";
    Unreachable "BLOOMFILE_EUNREACHABLE" "no size reaches the rate for so many keys";
    Replaced "BLOOMFILE_EREPLACED" "the file at the path is another file";
    Patch "BLOOMFILE_EPATCH" "not a patch, or a damaged patch";
    DifferentBase "BLOOMFILE_EDIFFERENTBASE" "a patch for another base";
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "std")]
            Error::Io(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(feature = "std")]
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(error)
    }
}

/// A result whose error is [`Error`].
pub type Result<T> = core::result::Result<T, Error>;
