/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace ns3 {

namespace {

template <typename T>
void AppendWhole(std::string *text, T value)
{
    char digits[24];
    auto result = std::to_chars(digits, digits + sizeof digits, value);
    text->append(digits, result.ptr);
}

} // namespace

void EunomiaAppendInt(std::string *text, int64_t value)
{
    AppendWhole(text, value);
}

void EunomiaAppendUint(std::string *text, uint64_t value)
{
    AppendWhole(text, value);
}

void EunomiaAppendFixed(std::string *text, double value, int decimals)
{
    if (std::isfinite(value)) {
        char digits[340]; /* the largest double has 309 digits before the point */
        auto result = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed,
                                    decimals);
        text->append(digits, result.ptr);
    }
}

void EunomiaAppendShortest(std::string *text, double value)
{
    if (std::isfinite(value)) {
        char digits[32];
        auto result = std::to_chars(digits, digits + sizeof digits, value);
        text->append(digits, result.ptr);
    }
}

void EunomiaPrint(std::string *text, const char *format, ...)
{
    char part[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    text->append(part, std::min(static_cast<size_t>(length), sizeof part - 1));
}

void EunomiaAppendCsv(std::string *text, std::string_view value)
{
    if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
        *text += value;
        return;
    }
    *text += '"';
    for (char c : value) {
        *text += c;
        if (c == '"') {
            *text += '"';
        }
    }
    *text += '"';
}

} // namespace ns3
