/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_JSON_H
#define EUNOMIA_JSON_H

/** Writes JSON, indented, with the keys in the order in which they come. */

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ns3 {

/**
 * Builds one JSON value, a call at a time. The caller keeps to the grammar: in an object a Key()
 * before each value, every Begin with its End.
 */
class EunomiaJsonWriter {
  public:
    void BeginObject();
    void EndObject();
    void BeginArray();
    void EndArray();
    void Key(std::string_view name);

    void String(std::string_view value); /**< UTF-8 */
    void Int(int64_t value);
    void Uint(uint64_t value);
    void Bool(bool value);
    void Null();
    /** With `decimals` digits after the point; null where it is not finite. */
    void Fixed(double value, int decimals);
    /** The shortest text that reads back as the same value; null where it is not finite. */
    void Shortest(double value);

    /** A key and its value at once. */
    void Uint(std::string_view name, uint64_t value);
    void Fixed(std::string_view name, double value, int decimals);

    /** What was built so far. */
    const std::string &Text() const { return m_text; }

  private:
    void BeginValue();
    void Begin(char bracket);
    void End(char bracket);
    void NewLine();
    void Quoted(std::string_view value);

    std::string m_text;
    std::vector<bool> m_empty; /**< of each open object or array: it has no member yet */
    bool m_afterKey = false;
};

} // namespace ns3

#endif
