// SPDX-License-Identifier: MIT
package bloomfile;

/**
 * What can be wrong, by the names of annex C of the specification and, for operations, of {@code doc/errors.md}, without
 * their prefix {@code BLOOMFILE_}.
 */
public enum ErrorCode {
    /** The file has no bytes. */
    EEMPTY("it has no bytes", "copy or build it again"),
    /** The path names no regular file. */
    ENOTREGULAR("it is no regular file", "write it to a file first, or name another path"),
    /** The bytes do not begin as a filter does. */
    EMAGIC("it does not begin as a filter does", "check the path, and the offset of an embedded filter"),
    /** A transfer changed line ends or took away the top bits. */
    ETEXTMODE("a transfer changed line ends or cut bytes to seven bits", "transfer it again in binary mode"),
    /** A later version of the format. */
    EVERSION("it is of a later version of the format", "use a later release"),
    /** An impossible header size. */
    EHEADERSIZE("its header size is impossible", "copy or build it again"),
    /** The static header is damaged. */
    EHEADER("its header is damaged", "copy or build it again"),
    /** A feature is not known. */
    EFEATURE("it uses a feature that is not known here", "use a later release"),
    /** The layout is not known. */
    ELAYOUT("its layout is not known here", "use a later release"),
    /** The hash function is not known, or not the one that was named, or a key was given where only the application can hash. */
    EHASH("its hash function is not known, or not the one that was named",
            "name the application's hash function, and pass digests"),
    /** Reader and writer hash the same bytes differently. */
    ESELFTEST("reader and writer hash the same bytes differently", "do not use it with this function"),
    /** k is out of range. */
    EHASHES("k is not 1 to 64", "correct k; of a file: copy or build it again"),
    /** m is out of range. */
    EBITS("m is out of range, or no multiple of 512", "correct m; of a file: copy or build it again"),
    /** The place of the body does not follow from m. */
    EBODYPLACE("the place of the body contradicts m", "copy or build it again"),
    /** The capacity is out of range. */
    ECAPACITY("the capacity is not 1 to 2^60", "say how many keys there will be"),
    /** The false-positive rate is out of range. */
    ERATE("the false-positive rate is not between 0 and 1", "a rate of one percent is 0.01"),
    /** The size before folding is no multiple of m. */
    EUNFOLDED("the size before folding is no multiple of m", "copy or build it again"),
    /** The label is no clean text, or too long. */
    ELABEL("the label has more than 112 bytes, is no UTF-8, or has control characters", "shorten or clean it"),
    /** Bytes are missing at the end. */
    ETRUNCATED("bytes are missing at its end", "copy it again"),
    /** There are bytes behind the image. */
    ETRAILING("there are bytes behind its end", "copy it again, or say where in the file it ends"),
    /** No commit record can be relied on. */
    ERECORD("its commit records are damaged or contradict each other", "copy or build it again"),
    /** A commit record contradicts itself or the header. */
    ESTATE("its commit record has an unknown state or impossible counts", "copy or build it again"),
    /** A live image could not be written to disk. */
    EPOISONED("it is live, and a write of it to disk failed", "rescue it where it is open, or build it anew"),
    /** Sealed: it cannot be changed any more. */
    ESEALED("it is sealed and never changes", "merge it with another one"),
    /** Live, and live images are not read here. */
    ELIVE("it is live, and only sealed filters are read here", "seal it first: bfseal FILE"),
    /** The machine, or a writer, died when not all was on disk. */
    EUNCLEAN("the machine or a writer died when not all of it was on disk", "add again what came since, or build it anew"),
    /** The reader cannot learn which boot this is. */
    ENOBOOT("the identity of the present boot cannot be learned", "mount /proc"),
    /** Live, on a file system that others may change. */
    EFILESYSTEM("it is live on a file system that other hosts may change", "keep it on a local disk, or seal it"),
    /** A page is damaged; its keys are <em>maybe</em>. */
    EPAGE("a page of its body is damaged; keys there are \"maybe\"", "copy or build it again"),
    /** The body as a whole contradicts the header; all keys are <em>maybe</em>. */
    EBODY("its body as a whole contradicts its header; every key is \"maybe\"", "copy or build it again"),
    /** A key to be removed was never added. */
    EABSENT("the key was certainly never added", "check what is being removed"),
    /** No compact form, or a damaged one. */
    ECOMPACT("it is no compact filter, or a damaged one, or one of another seed", "treat every key as \"maybe\""),
    /** An image is no layer as it should be, or not of this series. */
    ESERIES("it is no layer as it should be, or not of this series, or not in this place", "put the right layer there"),
    /** A layer of a series is missing. */
    ELAYER("a layer of the series is missing", "put the missing file back"),
    /** A series, where one image is needed. */
    ENOTONE("it is a series, where one filter is needed", "build one filter of the keys"),
    /** A body of the layout ribbon, which only its keys can make anew. */
    ESOLVED("a filter of the layout ribbon can only be made anew from its keys", "build one filter of all keys"),
    /** An image is no slice as it should be, or there can be no such slices. */
    ESLICE("it is no slice as it should be", "make fewer slices, or build it again"),
    /** A slice, where a whole filter is needed. */
    ENOTWHOLE("it is a slice, where a whole filter is needed", "join all slices first"),
    /** Slices that are not all of one filter. */
    EINCOMPLETE("the slices are not all of one filter, or were not made from the same keys",
            "build what is missing with the parameters and the keys of the others"),
    /** The filter would have so many keys that its rate is more than twice the target. */
    EFULL("it would be over capacity", "make it larger, or accept it: OVERFULL"),
    /** No patch, or a damaged one. */
    EPATCH("it is no patch, or a damaged one", "copy it again"),
    /** A patch for another base. */
    EOTHERBASE("the patch was made from another filter", "apply it to the filter that it was made from"),
    /** Parameters contradict each other. */
    EPARAMS("the parameters contradict each other", "see the documentation of the parameters"),
    /** The filter does not fit into memory as this call needs it. */
    ETOOBIG("it is too large for an array", "open it as a file"),
    /** No filter of 64-bit digests has this rate. */
    EUNREACHABLE("no filter reaches this rate for so many keys", "ask for a higher rate"),
    /** The factor divides the filter's blocks (bits, counters) not. */
    EFACTOR("the factor does not divide the number of blocks, bits or counters", "choose a divisor"),
    /** The result would have more false positives than promised. */
    ERATEPASSED("the result would have more false positives than promised", "build the sources larger, or accept the rate"),
    /** The filters have different layouts. */
    EDIFFERENTLAYOUT("the filters have different layouts", "build them with one layout"),
    /** The filters have different hash functions. */
    EDIFFERENTHASH("the filters have different hash functions", "build them with one function"),
    /** The filters have different k. */
    EDIFFERENTHASHES("the filters have different k", "build them with one k"),
    /** The filters have different seeds. */
    EDIFFERENTSEED("the filters have different seeds", "build them with one seed"),
    /** The filters have different m. */
    EDIFFERENTBITS("the filters have different sizes", "build them with one m"),
    /** One filter is a file, the other an embedded image. */
    EDIFFERENTFORM("the filters have different forms", "compare two files, or two embedded images"),
    /** The file at the path of a live filter is another one. */
    EREPLACED("the file was replaced while it was open for writing", "open it again"),
    /** Two counters do not tell how often a key is in both sets. */
    ECOUNTING("counting filters have no intersection", "project them first"),
    /** Only counting filters allow that. */
    ENOTCOUNTING("it is no counting filter", "make it with the layout counting"),
    /** Somebody wrote over the file, or cut it, while it was open. */
    ECHANGED("the file was changed or became shorter while it was open", "open it again, and ask again; replace files by rename");

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
     * What is wrong, for people.
     *
     * @return the end of a sentence that begins with what was attempted
     */
    public String meaning() {
        return meaning;
    }

    /**
     * What to do about it, for people.
     *
     * @return an imperative
     */
    public String remedy() {
        return remedy;
    }
}
