/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TEXT_READER_H
#define EUNOMIA_TEXT_READER_H

/**
 * Lines and columns of a text file, plain or gzip, for the readers of topologies, flow lists and
 * size distributions. It knows where it is, so that a refusal names file, line and field.
 */

#include "eunomia-input-error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ns3 {

/** What became of a number in text. */
enum class EunomiaParse {
    OK,
    NOT_A_NUMBER,
    NEGATIVE,
    TOO_LARGE, /**< past the range of the result */
};

/** Decimal digits only; `value` is set where the result is OK. */
EunomiaParse EunomiaParseUnsigned(std::string_view text, uint64_t *value);

/**
 * A decimal number such as `2.000000402`, `2` or `4.02e-7` as a whole number of 10^-decimals units,
 * without passing through floating point. Digits past the last unit round half up.
 * `value` is set where the result is OK, and is at most INT64_MAX.
 */
EunomiaParse EunomiaParseFixed(std::string_view text, int decimals, int64_t *value);

/** A token in single quotes for a message: printable, one line, cut where it is long. */
std::string EunomiaQuote(std::string_view token);

class EunomiaTextReader {
  public:
    /** \throws EunomiaInputError where the file cannot be opened */
    explicit EunomiaTextReader(const std::string &path);
    ~EunomiaTextReader();
    EunomiaTextReader(const EunomiaTextReader &) = delete;
    EunomiaTextReader &operator=(const EunomiaTextReader &) = delete;

    /**
     * Moves to the next line that is not blank; false at the end of the file. A carriage return at
     * the end of a line and a missing final newline do not matter.
     * \throws EunomiaInputError on a read error, a damaged gzip file or a line of over 64 KiB
     */
    bool NextLine();

    uint64_t LineNumber() const { return m_line; } /**< of the current line, from 1 */

    /** Columns of the current line, split at blanks and tabs; valid until the next NextLine(). */
    const std::vector<std::string_view> &Fields() const { return m_fields; }

    /**
     * Column `column` of the current line as a whole number in [min, max].
     * \param field its name in messages
     * \throws EunomiaInputError where it is missing, no whole number, or out of range
     */
    uint64_t Unsigned(size_t column, const char *field, uint64_t min, uint64_t max) const;

    /** As Unsigned(), for a finite number in [min, max]. */
    double Real(size_t column, const char *field, double min, double max) const;

    /** Refuses the current line. */
    [[noreturn]] void Fail(const std::string &field, const std::string &problem) const;

  private:
    bool ReadLine();
    bool Fill();
    std::string_view Column(size_t column, const char *field) const;

    std::string m_path;
    void *m_file; /**< zlib's gzFile */
    std::vector<char> m_buffer;
    size_t m_begin = 0; /**< first unread byte of the buffer */
    size_t m_end = 0;
    std::string m_text; /**< the current line */
    uint64_t m_line = 0;
    std::vector<std::string_view> m_fields;
};

} // namespace ns3

#endif
