/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-json.h"

#include "eunomia-format.h"

#include <cmath>

namespace ns3 {

void EunomiaJsonWriter::NewLine()
{
    m_text += '\n';
    m_text.append(2 * m_empty.size(), ' ');
}

void EunomiaJsonWriter::BeginValue()
{
    if (m_afterKey) {
        m_afterKey = false;
    } else if (!m_empty.empty()) {
        m_text += m_empty.back() ? "" : ",";
        m_empty.back() = false;
        NewLine();
    }
}

void EunomiaJsonWriter::Begin(char bracket)
{
    BeginValue();
    m_text += bracket;
    m_empty.push_back(true);
}

void EunomiaJsonWriter::End(char bracket)
{
    bool empty = m_empty.back();
    m_empty.pop_back();
    if (!empty) {
        NewLine();
    }
    m_text += bracket;
}

void EunomiaJsonWriter::BeginObject()
{
    Begin('{');
}

void EunomiaJsonWriter::EndObject()
{
    End('}');
}

void EunomiaJsonWriter::BeginArray()
{
    Begin('[');
}

void EunomiaJsonWriter::EndArray()
{
    End(']');
}

void EunomiaJsonWriter::Key(std::string_view name)
{
    BeginValue();
    Quoted(name);
    m_text += ": ";
    m_afterKey = true;
}

void EunomiaJsonWriter::Quoted(std::string_view value)
{
    static const char hex[] = "0123456789abcdef";
    m_text += '"';
    for (char c : value) {
        unsigned code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            m_text += '\\';
            m_text += c;
        } else if (code < 0x20) {
            m_text += "\\u00";
            m_text += hex[code >> 4];
            m_text += hex[code & 15];
        } else {
            m_text += c;
        }
    }
    m_text += '"';
}

void EunomiaJsonWriter::String(std::string_view value)
{
    BeginValue();
    Quoted(value);
}

void EunomiaJsonWriter::Int(int64_t value)
{
    BeginValue();
    EunomiaAppendInt(&m_text, value);
}

void EunomiaJsonWriter::Uint(uint64_t value)
{
    BeginValue();
    EunomiaAppendUint(&m_text, value);
}

void EunomiaJsonWriter::Bool(bool value)
{
    BeginValue();
    m_text += value ? "true" : "false";
}

void EunomiaJsonWriter::Null()
{
    BeginValue();
    m_text += "null";
}

void EunomiaJsonWriter::Fixed(double value, int decimals)
{
    if (!std::isfinite(value)) {
        Null();
        return;
    }
    BeginValue();
    EunomiaAppendFixed(&m_text, value, decimals);
}

void EunomiaJsonWriter::Shortest(double value)
{
    if (!std::isfinite(value)) {
        Null();
        return;
    }
    BeginValue();
    EunomiaAppendShortest(&m_text, value);
}

void EunomiaJsonWriter::Uint(std::string_view name, uint64_t value)
{
    Key(name);
    Uint(value);
}

void EunomiaJsonWriter::Fixed(std::string_view name, double value, int decimals)
{
    Key(name);
    Fixed(value, decimals);
}

} // namespace ns3
