/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_INPUT_ERROR_H
#define EUNOMIA_INPUT_ERROR_H

/** How every reader and every check of an option refuses what a user gave. */

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ns3 {

/**
 * Bad input. what() is one line, `FILE:LINE: FIELD: problem`, without the parts that do not apply.
 * A program prints it on stderr and ends with status 2.
 */
class EunomiaInputError : public std::runtime_error {
  public:
    /**
     * \param file the file or folder, as the user wrote it, or the option such as `--load`
     * \param line counted from 1; 0 where there is none
     * \param field the column or key at fault; empty where there is none
     * \param problem what is wrong and what would be right, without a line break
     */
    EunomiaInputError(const std::string &file, uint64_t line, const std::string &field,
                      const std::string &problem)
        : std::runtime_error(Compose(file, line, field, problem)), m_file(file), m_line(line),
          m_field(field)
    {
    }

    const std::string &File() const { return m_file; }
    uint64_t Line() const { return m_line; } /**< 0 where there is none */
    const std::string &Field() const { return m_field; }

  private:
    static std::string Compose(const std::string &file, uint64_t line, const std::string &field,
                               const std::string &problem)
    {
        std::string text = file;
        if (line != 0) {
            text += ':' + std::to_string(line);
        }
        if (!field.empty()) {
            text += ": " + field;
        }
        return text + ": " + problem;
    }

    std::string m_file;
    uint64_t m_line;
    std::string m_field;
};

} // namespace ns3

#endif
