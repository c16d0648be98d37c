/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-text-reader.h"

#include "eunomia-format.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <zlib.h>

namespace ns3 {

namespace {

constexpr size_t BUFFER_BYTES = 1 << 17;
constexpr size_t LINE_MAX_BYTES = 1 << 16;
constexpr int64_t EXPONENT_MAX = 10000;

bool IsDigit(char c)
{
    return c >= '0' && c <= '9';
}

bool IsBlank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/** The parts of an unsigned decimal number: digits, point and exponent. */
struct Decimal {
    std::string_view whole;    /**< digits before the point */
    std::string_view fraction; /**< digits after it */
    int64_t exponent = 0;      /**< of ten, held within +-EXPONENT_MAX */

    size_t Digits() const { return whole.size() + fraction.size(); }
    char Digit(size_t i) const { return i < whole.size() ? whole[i] : fraction[i - whole.size()]; }
};

std::string_view TakeDigits(std::string_view *text)
{
    size_t n = 0;
    while (n < text->size() && IsDigit((*text)[n])) {
        n++;
    }
    std::string_view digits = text->substr(0, n);
    text->remove_prefix(n);
    return digits;
}

bool TakeExponent(std::string_view *text, int64_t *exponent)
{
    text->remove_prefix(1);
    bool negative = false;
    if (!text->empty() && (text->front() == '-' || text->front() == '+')) {
        negative = text->front() == '-';
        text->remove_prefix(1);
    }
    std::string_view digits = TakeDigits(text);
    int64_t value = 0;
    for (char c : digits) {
        value = std::min<int64_t>(value * 10 + (c - '0'), EXPONENT_MAX);
    }
    *exponent = negative ? -value : value;
    return !digits.empty();
}

bool Split(std::string_view text, Decimal *decimal)
{
    decimal->whole = TakeDigits(&text);
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        decimal->fraction = TakeDigits(&text);
    }
    if (decimal->Digits() == 0) {
        return false;
    }
    if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
        if (!TakeExponent(&text, &decimal->exponent)) {
            return false;
        }
    }
    return text.empty();
}

} // namespace

EunomiaParse EunomiaParseUnsigned(std::string_view text, uint64_t *value)
{
    if (text.size() > 1 && text.front() == '-' &&
        std::all_of(text.begin() + 1, text.end(), IsDigit)) {
        return EunomiaParse::NEGATIVE;
    }
    if (text.empty() || !std::all_of(text.begin(), text.end(), IsDigit)) {
        return EunomiaParse::NOT_A_NUMBER;
    }
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    return error == std::errc() ? EunomiaParse::OK : EunomiaParse::TOO_LARGE;
}

EunomiaParse EunomiaParseFixed(std::string_view text, int decimals, int64_t *value)
{
    constexpr int64_t max = std::numeric_limits<int64_t>::max();
    bool negative = !text.empty() && text.front() == '-';
    Decimal decimal;
    if (!Split(text.substr(negative ? 1 : 0), &decimal)) {
        return EunomiaParse::NOT_A_NUMBER;
    }
    if (negative) {
        return EunomiaParse::NEGATIVE;
    }
    /* The first `kept` digits, with zeros appended where there are fewer, count whole units. */
    int64_t kept = static_cast<int64_t>(decimal.whole.size()) + decimal.exponent + decimals;
    int64_t digits = static_cast<int64_t>(decimal.Digits());
    int64_t sum = 0;
    for (int64_t i = 0; i < kept; i++) {
        int64_t digit = i < digits ? decimal.Digit(static_cast<size_t>(i)) - '0' : 0;
        if (sum > (max - digit) / 10) {
            return EunomiaParse::TOO_LARGE;
        }
        sum = sum * 10 + digit;
    }
    if (kept >= 0 && kept < digits && decimal.Digit(static_cast<size_t>(kept)) >= '5') {
        if (sum == max) {
            return EunomiaParse::TOO_LARGE;
        }
        sum++;
    }
    *value = sum;
    return EunomiaParse::OK;
}

std::string EunomiaQuote(std::string_view token)
{
    constexpr size_t longest = 40;
    std::string text = "'";
    for (char c : token.substr(0, longest)) {
        text += c >= ' ' && c <= '~' ? c : '?';
    }
    return text + (token.size() > longest ? "...'" : "'");
}

EunomiaTextReader::EunomiaTextReader(const std::string &path)
    : m_path(path), m_file(nullptr), m_buffer(BUFFER_BYTES)
{
    errno = 0;
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr) {
        int error = errno != 0 ? errno : ENOMEM;
        throw EunomiaInputError(path, 0, "", std::string("cannot open: ") + std::strerror(error));
    }
    gzbuffer(file, BUFFER_BYTES);
    m_file = file;
}

EunomiaTextReader::~EunomiaTextReader()
{
    gzclose(static_cast<gzFile>(m_file));
}

bool EunomiaTextReader::Fill()
{
    gzFile file = static_cast<gzFile>(m_file);
    errno = 0;
    int count = gzread(file, m_buffer.data(), static_cast<unsigned>(m_buffer.size()));
    m_begin = 0;
    m_end = count > 0 ? static_cast<size_t>(count) : 0;
    if (count > 0) {
        return true;
    }
    /* A gzip file cut short ends with a count of 0 and an error that stays. */
    int code = Z_OK;
    std::string reason = gzerror(file, &code);
    if (code != Z_OK && code != Z_STREAM_END) {
        if (code == Z_ERRNO) {
            reason = std::strerror(errno);
        } else if (reason.compare(0, m_path.size() + 2, m_path + ": ") == 0) {
            reason.erase(0, m_path.size() + 2); /* zlib names the file, too */
        }
        throw EunomiaInputError(m_path, 0, "", "cannot read: " + reason);
    }
    return false;
}

bool EunomiaTextReader::ReadLine()
{
    m_text.clear();
    if (m_begin == m_end && !Fill()) {
        return false;
    }
    m_line++;
    while (m_begin < m_end || Fill()) {
        const char *begin = m_buffer.data() + m_begin;
        size_t left = m_end - m_begin;
        const char *newline = static_cast<const char *>(std::memchr(begin, '\n', left));
        size_t length = newline != nullptr ? static_cast<size_t>(newline - begin) : left;
        if (m_text.size() + length > LINE_MAX_BYTES) {
            Fail("", "line longer than " + std::to_string(LINE_MAX_BYTES) + " bytes");
        }
        m_text.append(begin, length);
        m_begin += length;
        if (newline != nullptr) {
            m_begin++;
            break;
        }
    }
    return true;
}

bool EunomiaTextReader::NextLine()
{
    m_fields.clear();
    while (m_fields.empty()) {
        if (!ReadLine()) {
            return false;
        }
        std::string_view rest = m_text;
        if (m_line == 1 && rest.substr(0, 3) == "\xEF\xBB\xBF") {
            rest.remove_prefix(3); /* the byte order mark that some editors put before UTF-8 */
        }
        while (!rest.empty()) {
            auto begin = std::find_if_not(rest.begin(), rest.end(), IsBlank);
            rest.remove_prefix(static_cast<size_t>(begin - rest.begin()));
            auto end = std::find_if(rest.begin(), rest.end(), IsBlank);
            size_t length = static_cast<size_t>(end - rest.begin());
            if (length > 0) {
                m_fields.push_back(rest.substr(0, length));
            }
            rest.remove_prefix(length);
        }
    }
    return true;
}

std::string_view EunomiaTextReader::Column(size_t column, const char *field) const
{
    if (column >= m_fields.size()) {
        Fail(field, "missing column");
    }
    return m_fields[column];
}

uint64_t EunomiaTextReader::Unsigned(size_t column, const char *field, uint64_t min,
                                     uint64_t max) const
{
    std::string_view text = Column(column, field);
    uint64_t value = 0;
    EunomiaParse result = EunomiaParseUnsigned(text, &value);
    if (result == EunomiaParse::NOT_A_NUMBER) {
        Fail(field, EunomiaQuote(text) + " is not a whole number");
    }
    if (result != EunomiaParse::OK || value < min || value > max) {
        Fail(field, EunomiaQuote(text) + " is out of range, " + std::to_string(min) + " to " +
                        std::to_string(max) + " expected");
    }
    return value;
}

double EunomiaTextReader::Real(size_t column, const char *field, double min, double max) const
{
    std::string_view text = Column(column, field);
    double value = 0;
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, value);
    bool number = stop == end && (error == std::errc() || error == std::errc::result_out_of_range);
    if (!number || (error == std::errc() && !std::isfinite(value))) {
        Fail(field, EunomiaQuote(text) + " is not a number");
    }
    if (error != std::errc() || value < min || value > max) {
        std::string range;
        EunomiaAppendShortest(&range, min);
        range += " to ";
        EunomiaAppendShortest(&range, max);
        Fail(field, EunomiaQuote(text) + " is out of range, " + range + " expected");
    }
    return value;
}

void EunomiaTextReader::Fail(const std::string &field, const std::string &problem) const
{
    throw EunomiaInputError(m_path, m_line, field, problem);
}

} // namespace ns3
