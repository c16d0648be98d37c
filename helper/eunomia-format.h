/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_FORMAT_H
#define EUNOMIA_FORMAT_H

/** Numbers as text, fast and the same in every locale, so that equal runs give equal bytes. */

#include <cstdint>
#include <string>
#include <string_view>

namespace ns3 {

void EunomiaAppendInt(std::string *text, int64_t value);
void EunomiaAppendUint(std::string *text, uint64_t value);

/** With `decimals` digits after the point, 0 to 17. A value that is not finite appends nothing. */
void EunomiaAppendFixed(std::string *text, double value, int decimals);

/** The shortest text that reads back as the same value; nothing where it is not finite. */
void EunomiaAppendShortest(std::string *text, double value);

/** printf() to the end of a text, for tables; at most 255 characters a call. */
void EunomiaPrint(std::string *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A CSV field, quoted as RFC 4180 has it where it holds a comma, a quote or a line break. */
void EunomiaAppendCsv(std::string *text, std::string_view value);

/** Picoseconds, not negative, as whole nanoseconds, rounded half up. */
inline int64_t EunomiaRoundToNs(int64_t ps)
{
    return ps / 1000 + (ps % 1000 >= 500 ? 1 : 0);
}

} // namespace ns3

#endif
