/* SPDX-License-Identifier: MIT
 *
 * A splitter of texts into words and n-grams. libunistring splits texts that are not ASCII.
 */
#ifndef WORDS_H
#define WORDS_H

#include <bloomfile.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unictype.h>
#include <unistr.h>
#include <uniwbrk.h>
#include <vector>

/* The words of a text by Unicode's rules (UAX #29), without white space. They are copied into one
 * buffer, separated by a byte that never occurs in UTF-8. So texts that differ only in white space
 * have equal buffers, and each n-gram is a span of the buffer. */
struct Words {
    std::string all;
    std::vector<uint64_t> starts, ends;

    void split(std::string_view text)
    {
        all.clear();
        starts.clear();
        ends.clear();
        if (std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 128; }))
            split_ascii(text);
        else
            split_unicode(text);
    }

    /* All n-grams. The text must have at least n words. */
    struct bloomfile_spans grams(size_t n) const
    {
        struct bloomfile_spans spans = BLOOMFILE_SPANS_INIT;
        spans.base = all.data();
        spans.size = all.size();
        spans.count = starts.size() - n + 1;
        spans.starts = starts.data();
        spans.ends = ends.data() + n - 1;
        return spans;
    }

  private:
    static constexpr int LETTER = 1, DIGIT = 2, UNDERSCORE = 4, IN_WORD = 7, BLANK = 8;
    static constexpr int LETTERS_JOIN = 16, DIGITS_JOIN = 32;
    std::vector<char> breaks;

    static constexpr std::array<uint8_t, 128> classes()
    {
        std::array<uint8_t, 128> of{};
        for (size_t c = 'a'; c <= 'z'; c++)
            of[c] = of[c - 'a' + 'A'] = LETTER;
        for (size_t c = '0'; c <= '9'; c++)
            of[c] = DIGIT;
        for (size_t c = '\t'; c <= '\r'; c++)
            of[c] = of[' '] = BLANK;
        of['_'] = UNDERSCORE;
        of[':'] = LETTERS_JOIN;
        of[','] = of[';'] = DIGITS_JOIN;
        of['.'] = of['\''] = LETTERS_JOIN | DIGITS_JOIN;
        return of;
    }

    void add(std::string_view word)
    {
        if (!starts.empty())
            all += '\xff';
        starts.push_back(all.size());
        all += word;
        ends.push_back(all.size());
    }

    void split_ascii(std::string_view text)
    {
        static constexpr auto table = classes();
        const auto class_at = [&](size_t i) {
            return i < text.size() ? table[size_t(text[i])] : 0;
        };
        for (size_t start = 0, i; start < text.size(); start = i) {
            int last = class_at(start);
            for (i = start + 1; last & IN_WORD;) {
                const int next = class_at(i), both = last & class_at(i + 1);
                if (next & IN_WORD)
                    last = next, i++;
                else if ((next & LETTERS_JOIN && both & LETTER) ||
                         (next & DIGITS_JOIN && both & DIGIT))
                    i += 2;
                else
                    break;
            }
            if (last != BLANK)
                add(text.substr(start, i - start));
        }
    }

    void split_unicode(std::string_view text)
    {
        const auto *const bytes = reinterpret_cast<const uint8_t *>(text.data());
        breaks.assign(text.size() + 1, 1);
        u8_wordbreaks(bytes, text.size(), breaks.data());
        for (size_t start = 0, end = 1; start < text.size(); start = end++) {
            while (!breaks[end])
                end++;
            ucs4_t c = ' ';
            for (size_t i = start; i < end && uc_is_property_white_space(c);)
                i += size_t(u8_mbtouc(&c, bytes + i, end - i));
            if (!uc_is_property_white_space(c))
                add(text.substr(start, end - start));
        }
    }
};

#endif
