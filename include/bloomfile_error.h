/* SPDX-License-Identifier: MIT
 *
 * bloomfile: errors
 *
 * bloomfile.h includes this header, and describes how functions return errors. The values never
 * change. Their hundreds are the kind, so errors of a later version have a known kind too. Each is
 * listed with its text from bloomfile_strerror(). doc/errors.md has causes and remedies.
 *
 * A program that includes the headers may define BLOOMFILE_API first, to give the functions another
 * visibility.
 */
#ifndef BLOOMFILE_PUBLIC_ERROR_H
#define BLOOMFILE_PUBLIC_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BLOOMFILE_API
#define BLOOMFILE_API __attribute__((visibility("default")))
#endif

/* The caller's reaction to an error. */
enum bloomfile_error_kind {
    BLOOMFILE_KIND_NONE = 0,     /* no error */
    BLOOMFILE_KIND_SYSTEM = 1,   /* retry, or change the system; every errno but EBUSY */
    BLOOMFILE_KIND_DAMAGED = 2,  /* rebuild it or copy it again; trust no answer */
    BLOOMFILE_KIND_FOREIGN = 3,  /* another file, hash, tag or kind of keys belongs here */
    BLOOMFILE_KIND_NEWER = 4,    /* a later version of the library is needed */
    BLOOMFILE_KIND_STATE = 5,    /* reopen the filter, or wait; EBUSY too */
    BLOOMFILE_KIND_USAGE = 6,    /* a bug in the caller */
    BLOOMFILE_KIND_CAPACITY = 7, /* the filter is full, or a rate or size is out of reach */
};

enum bloomfile_error {
    /* BLOOMFILE_KIND_SYSTEM */
    BLOOMFILE_EFILESYSTEM = -1101, /* a live filter cannot be shared on this file system */
    BLOOMFILE_ENOBOOT = -1102,     /* the current boot cannot be identified (no boot_id in /proc) */
    /* BLOOMFILE_KIND_DAMAGED */
    BLOOMFILE_EEMPTY = -1201,     /* the file is empty */
    BLOOMFILE_ETEXTMODE = -1202,  /* damaged by a text-mode transfer (line ends were changed) */
    BLOOMFILE_EFORM = -1203,      /* the header size is neither 512 nor 4096 */
    BLOOMFILE_EHEADER = -1204,    /* the header is damaged (checksum mismatch) */
    BLOOMFILE_EHASHCOUNT = -1205, /* the number of hashes k is out of range (1 to 64) */
    BLOOMFILE_EBITS = -1206,      /* the number of bits m is out of range for the layout */
    BLOOMFILE_EOFFSET = -1207,    /* the body's offset or size does not follow from m */
    BLOOMFILE_ECAPACITY = -1208,  /* the capacity is out of range (at least 1) */
    BLOOMFILE_ERATE = -1209,      /* the false-positive rate is out of range (0 < rate < 1) */
    BLOOMFILE_EUNFOLDED = -1210,  /* the size before folding is not a multiple of m */
    BLOOMFILE_ELABEL = -1211,     /* the label is not clean UTF-8 of at most 112 bytes */
    BLOOMFILE_ESLICE = -1212,     /* the header of the slice contradicts itself */
    BLOOMFILE_ETRUNCATED = -1213, /* the file is truncated */
    BLOOMFILE_ETRAILING = -1214,  /* the file has extra bytes at the end */
    BLOOMFILE_ERECORD = -1215,    /* a commit record is damaged */
    BLOOMFILE_ESTATE = -1216,     /* a commit record contradicts its state */
    BLOOMFILE_EPAGE = -1217,      /* a page of the body is damaged (checksum mismatch) */
    BLOOMFILE_EBODY = -1218,      /* the body contradicts the header (checksum, count or padding) */
    BLOOMFILE_EMISSINGLAYER = -1219, /* a layer of the series is missing */
    BLOOMFILE_EPATCH = -1220,        /* not a filter patch, or damaged */
    BLOOMFILE_ENOTCOMPACT = -1221,   /* not a compact filter, damaged, or made with another seed */
    /* BLOOMFILE_KIND_FOREIGN */
    BLOOMFILE_EMAGIC = -1301,           /* not a filter file */
    BLOOMFILE_ENOTREGULAR = -1302,      /* not a regular file */
    BLOOMFILE_EHASH = -1303,            /* its hash function is unknown, or an application's own */
    BLOOMFILE_ESELFTEST = -1304,        /* this build hashes differently from the writer */
    BLOOMFILE_ESERIES = -1305,          /* a layer does not fit into its series */
    BLOOMFILE_EDIFFERENTLAYOUT = -1306, /* the layouts differ */
    BLOOMFILE_EDIFFERENTHASH = -1307,   /* the hash functions differ */
    BLOOMFILE_EDIFFERENTHASHCOUNT = -1308, /* the numbers of hashes k differ */
    BLOOMFILE_EDIFFERENTSEED = -1309,      /* the seeds differ */
    BLOOMFILE_EDIFFERENTBITS = -1310,      /* the numbers of bits m differ */
    BLOOMFILE_EDIFFERENTFORM = -1311,      /* one is a file, the other an embedded image */
    BLOOMFILE_EDIFFERENTBASE = -1312,      /* the patch was made for another filter */
    BLOOMFILE_EINCOMPLETE =
        -1313, /* the slices are not all of one filter, or not of the same keys */
    BLOOMFILE_EDIFFERENTTAG = -1314, /* the tag is not the expected one */
    BLOOMFILE_EKEYKIND = -1315,      /* its keys are of another kind */
    /* BLOOMFILE_KIND_NEWER */
    BLOOMFILE_EVERSION = -1401, /* written in a newer format version */
    BLOOMFILE_EFEATURE = -1402, /* needs a feature this version does not know */
    BLOOMFILE_ELAYOUT = -1403,  /* unknown layout */
    /* BLOOMFILE_KIND_STATE */
    BLOOMFILE_EPOISONED = -1501, /* poisoned: a write to disk failed or damage was found */
    BLOOMFILE_ELIVE = -1502,     /* live, without checksums (seal it first: bfseal) */
    BLOOMFILE_ESEALED = -1503,   /* sealed: it can no longer be changed */
    BLOOMFILE_EUNCLEAN = -1504,  /* the machine crashed, or a writer was killed during a sync */
    BLOOMFILE_EREPLACED = -1505, /* replaced or removed while it was in use */
    BLOOMFILE_ECHANGED = -1506,  /* overwritten while it was open */
    /* BLOOMFILE_KIND_USAGE */
    BLOOMFILE_ESTRUCTSIZE = -1601,  /* unknown struct_size: initialise the struct with its _INIT */
    BLOOMFILE_EFLAGS = -1602,       /* unknown or contradictory flags */
    BLOOMFILE_EVALUE = -1603,       /* invalid value of a parameter */
    BLOOMFILE_EREADONLY = -1604,    /* not opened for writing */
    BLOOMFILE_ENOTCOUNTING = -1605, /* not of the counting layout */
    BLOOMFILE_EISCOUNTING = -1606,  /* counting filters cannot be intersected */
    BLOOMFILE_EISSERIES = -1607,    /* a series of layers, where one filter is needed */
    BLOOMFILE_EISSLICE = -1608,     /* a slice, where a whole filter is needed */
    BLOOMFILE_EISRIBBON = -1609, /* a ribbon filter cannot be changed, folded, merged or patched */
    BLOOMFILE_EABSENT = -1610,   /* the key is certainly not in the filter */
    BLOOMFILE_EFACTOR = -1611,   /* the factor does not divide the number of blocks, or bits */
    /* BLOOMFILE_KIND_CAPACITY */
    BLOOMFILE_EFULL = -1701,        /* over capacity */
    BLOOMFILE_EOVERRATE = -1702,    /* the result's false-positive rate would pass the limit */
    BLOOMFILE_EUNREACHABLE = -1703, /* no size reaches this false-positive rate for so many keys */
    BLOOMFILE_ETOOBIG = -1704,      /* the filter is too big for this machine's address space */
};

/* Returns the text for any value that a function here returned: 0, an errno, a BLOOMFILE_E*. Never
 * NULL. */
BLOOMFILE_API const char *bloomfile_strerror(int error);

/* Returns the name: "BLOOMFILE_EMAGIC" and so on; an errno's symbol ("ENOENT") where known. Never
 * NULL. */
BLOOMFILE_API const char *bloomfile_errname(int error);

/* Returns the kind of an error that a function here returned: enum bloomfile_error_kind. A value
 * outside the ranges above, such as a callback's error, is BLOOMFILE_KIND_SYSTEM. */
BLOOMFILE_API int bloomfile_error_kind(int error);

/* Returns the name of the parameter or struct member ("bits") that caused the last
 * BLOOMFILE_ESTRUCTSIZE, _EFLAGS or _EVALUE in this thread; "" before the first. The members
 * `reserved2` and `more` are "reserved" too. Static. */
BLOOMFILE_API const char *bloomfile_invalid(void);

#ifdef __cplusplus
}
#endif

#endif
