// SPDX-License-Identifier: MIT
package io.github.bloomfile;

/**
 * The errors, named as in section 18 of the specification and, for operations, in {@code doc/errors.md}, without the
 * prefix {@code BLOOMFILE_}.
 */
public enum ErrorCode {
    /** The file has no bytes. */
    EEMPTY("the file is empty", "copy it again, or rebuild it"),
    /** The path names no regular file. */
    ENOTREGULAR("not a regular file", "write it to a file first, or name another path"),
    /** The bytes do not begin as a filter does. */
    EMAGIC("not a filter file", "check the path, and the offset of an embedded filter"),
    /** A transfer changed line ends or took away the top bits. */
    ETEXTMODE("damaged by a text-mode transfer (line ends were changed)", "transfer it again in binary mode"),
    /** A later version of the format. */
    EVERSION("written in a newer format version", "use a later release"),
    /** An impossible header size. */
    EFORM("the header size is neither 512 nor 4096", "copy it again, or rebuild it"),
    /** The static header is damaged. */
    EHEADER("the header is damaged (checksum mismatch)", "copy it again, or rebuild it"),
    /** A feature is not known. */
    EFEATURE("needs a feature this version does not know", "use a later release"),
    /** The layout is not known. */
    ELAYOUT("unknown layout", "use a later release"),
    /**
     * The hash function is not known, or not the function that was named, or a key was given where only the
     * application can hash.
     */
    EHASH("its hash function is unknown, or an application's own",
            "name the application's hash function, and pass digests"),
    /** Reader and writer hash the same bytes differently. */
    ESELFTEST("this build hashes differently from the writer", "do not use it with this function"),
    /** k is out of range. */
    EHASHCOUNT("the number of hashes k is out of range (1 to 64)",
            "copy it again, or rebuild it"),
    /** m is out of range. */
    EBITS("the number of bits m is out of range for the layout",
            "copy it again, or rebuild it"),
    /** The place of the body does not follow from m. */
    EOFFSET("the body's offset or size does not follow from m", "copy it again, or rebuild it"),
    /** The capacity is out of range. */
    ECAPACITY("the capacity is out of range (at least 1)", "copy it again, or rebuild it"),
    /** The false-positive rate is out of range. */
    ERATE("the false-positive rate is out of range (0 < rate < 1)", "copy it again, or rebuild it"),
    /** The size before folding is not a multiple of m. */
    EUNFOLDED("the size before folding is not a multiple of m", "copy it again, or rebuild it"),
    /** The label has control characters or wrong UTF-8, or is too long. */
    ELABEL("the label is not clean UTF-8 of at most 112 bytes", "copy it again, or rebuild it"),
    /** Bytes are missing at the end. */
    ETRUNCATED("the file is truncated", "copy it again"),
    /** There are bytes after the image. */
    ETRAILING("the file has extra bytes at the end", "copy it again, or set the length of the embedded filter"),
    /** No commit record can be relied on. */
    ERECORD("a commit record is damaged", "copy it again, or rebuild it"),
    /** A commit record contradicts itself or the header. */
    ESTATE("a commit record contradicts its state", "copy it again, or rebuild it"),
    /** A live image could not be written to disk. */
    EPOISONED("poisoned: a write to disk failed or damage was found",
            "rescue it in a process that has it open, or rebuild it"),
    /** Sealed: it can no longer be changed. */
    ESEALED("sealed: it can no longer be changed", "merge it with another filter"),
    /** Live, and live images are not read here. */
    ELIVE("live, without checksums", "seal it first: bfseal FILE"),
    /** The machine, or a writer, died when not all was on disk. */
    EUNCLEAN("the machine crashed, or a writer was killed during a sync",
            "add the keys since the last sync again, or rebuild it"),
    /** The reader cannot learn which boot this is. */
    ENOBOOT("the current boot cannot be identified (no boot_id in /proc)", "mount /proc"),
    /** Live, on a file system that other hosts may change. */
    EFILESYSTEM("a live filter cannot be shared on this file system", "keep it on a local disk, or seal it"),
    /** A page is damaged; its keys are <em>maybe</em>. */
    EPAGE("a page of the body is damaged (checksum mismatch)", "copy it again, or rebuild it"),
    /** The body as a whole contradicts the header; all keys are <em>maybe</em>. */
    EBODY("the body contradicts the header (checksum, count or padding)", "copy it again, or rebuild it"),
    /** A key to be removed was never added. */
    EABSENT("the key is certainly not in the filter", "check the keys to remove"),
    /** Not a compact form, or damaged. */
    ENOTCOMPACT("not a compact filter, damaged, or made with another seed", "treat every key as \"maybe\""),
    /** An image is not a valid layer, or belongs to another series. */
    ESERIES("a layer does not fit into its series", "restore the right file"),
    /** A layer of a series is missing. */
    EMISSINGLAYER("a layer of the series is missing", "restore the missing file"),
    /** A series, where a single image is needed. */
    EISSERIES("a series of layers, where one filter is needed", "build one filter from the keys"),
    /** A body of the ribbon layout, which can be made again only from its keys. */
    EISRIBBON("a ribbon filter cannot be changed, folded, merged or patched",
            "build one filter from all keys"),
    /** The header of a slice contradicts itself. */
    ESLICE("the header of the slice contradicts itself",
            "copy it again, or rebuild it"),
    /** A slice, where a whole filter is needed. */
    EISSLICE("a slice, where a whole filter is needed", "join all slices first"),
    /** Slices that are not all of one filter. */
    EINCOMPLETE("the slices are not all of one filter, or not of the same keys",
            "build the missing slice with the parameters and keys of the other slices"),
    /** The filter's keys are of another kind. */
    EKEYKIND("its keys are of another kind", "use a filter of such keys, or look up keys of its kind"),
    /** The number of keys would raise the rate above twice the target. */
    EFULL("over capacity", "make it larger, or accept it: OVERFULL"),
    /** Not a patch, or damaged. */
    EPATCH("not a filter patch, or damaged", "copy it again"),
    /** A patch for another base. */
    EDIFFERENTBASE("the patch was made for another filter", "apply it to the filter it was made from"),
    /** Parameters contradict each other. */
    EVALUE("invalid value of a parameter", "see the documentation of the parameters"),
    /** The filter does not fit into memory as this call needs it. */
    ETOOBIG("the filter is too big for an array, or for the heap", "make it as a file, with a Builder"),
    /** No filter of 64-bit digests has this rate. */
    EUNREACHABLE("no size reaches this false-positive rate for so many keys", "use a higher rate"),
    /** The factor divides the filter's blocks (bits, counters) not. */
    EFACTOR("the factor does not divide the number of blocks, or bits", "choose a divisor"),
    /** The result would have more false positives than promised. */
    EOVERRATE("the result's false-positive rate would pass the limit",
            "build the sources larger, or accept the rate"),
    /** The filters have different layouts. */
    EDIFFERENTLAYOUT("the layouts differ", "build them with one layout"),
    /** The filters have different hash functions. */
    EDIFFERENTHASH("the hash functions differ", "build them with one function"),
    /** The filters have different k. */
    EDIFFERENTHASHCOUNT("the numbers of hashes k differ", "build them with one k"),
    /** The filters have different seeds. */
    EDIFFERENTSEED("the seeds differ", "build them with one seed"),
    /** The filters have different m. */
    EDIFFERENTBITS("the numbers of bits m differ", "build them with one m"),
    /** One filter is a file, the other an embedded image. */
    EDIFFERENTFORM("one is a file, the other an embedded image", "compare two files, or two embedded images"),
    /** The path of a live filter names another file now. */
    EREPLACED("replaced or removed while it was in use", "open it again"),
    /** Two counters do not show how often a key is in both sets. */
    EISCOUNTING("counting filters cannot be intersected", "project them first"),
    /** The operation requires a counting filter. */
    ENOTCOUNTING("not of the counting layout", "make it with the layout counting"),
    /** Another program overwrote or truncated the file while it was open. */
    ECHANGED("overwritten while it was open", "open it again, and repeat the lookups; replace files by rename");

    private final String meaning;
    private final String remedy;

    ErrorCode(String meaning, String remedy) {
        this.meaning = meaning;
        this.remedy = remedy;
    }

    /**
     * The name in the specification.
     *
     * @return such as {@code BLOOMFILE_EPAGE}
     */
    public String fullName() {
        return "BLOOMFILE_" + name();
    }

    /**
     * Returns the error in words.
     *
     * @return never null
     */
    public String meaning() {
        return meaning;
    }

    /**
     * Returns the remedy, for a message.
     *
     * @return an imperative
     */
    public String remedy() {
        return remedy;
    }
}
