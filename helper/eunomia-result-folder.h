/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_RESULT_FOLDER_H
#define EUNOMIA_RESULT_FOLDER_H

/** A folder that gets all files of a run, or none. */

#include "eunomia-input-error.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ns3 {

/** A file that is written in large pieces: append to Text(), then call Written(). */
class EunomiaResultFile {
  public:
    /** \throws EunomiaInputError where it cannot be created */
    explicit EunomiaResultFile(const std::string &path);
    ~EunomiaResultFile();
    EunomiaResultFile(const EunomiaResultFile &) = delete;
    EunomiaResultFile &operator=(const EunomiaResultFile &) = delete;

    std::string *Text() { return &m_text; } /**< bytes that wait to be written */

    /** Writes what waits where it is much. \throws EunomiaInputError where the disk refuses */
    void Written()
    {
        if (m_text.size() >= FLUSH_BYTES) {
            Flush();
        }
    }

    /** Writes what waits and closes. \throws EunomiaInputError where the disk refuses */
    void Close();

  private:
    static constexpr size_t FLUSH_BYTES = 1 << 16;

    void Flush();
    [[noreturn]] void Fail(const char *what) const;

    std::string m_path;
    std::FILE *m_file;
    std::string m_text;
};

/**
 * Guarantee: until Commit() returns, every file stands under a temporary name (`NAME.part`); after
 * it, all of them stand under their own. Where Commit() was not reached, the destructor removes the
 * files, and the folders that were made for them.
 */
class EunomiaResultFolder {
  public:
    /**
     * Makes the folder, with its parents, and opens the files, so that a folder that cannot be
     * written is known before a run.
     * \param path the folder
     * \param names files to write, in the order in which Commit() is to publish them
     * \param others further names that count as results of an earlier run
     * \param force removes results of an earlier run, which are refused otherwise; files with other
     *        names stay
     * \throws EunomiaInputError that names the folder; nothing is left behind
     */
    EunomiaResultFolder(const std::string &path, const std::vector<std::string> &names,
                        const std::vector<std::string> &others, bool force);
    ~EunomiaResultFolder();
    EunomiaResultFolder(const EunomiaResultFolder &) = delete;
    EunomiaResultFolder &operator=(const EunomiaResultFolder &) = delete;

    /** The file of one of the `names`. */
    EunomiaResultFile &File(const std::string &name);

    /**
     * Takes in a file that someone else writes, such as a capture: it is to be written to the path
     * returned, complete and closed before Commit(), which publishes it as `name`.
     * \throws EunomiaInputError where such a file exists and `force` was not given
     */
    std::string Adopt(const std::string &name);

    /** Closes and publishes all files. \throws EunomiaInputError; the destructor then tidies up */
    void Commit();

  private:
    struct Entry {
        std::string name;
        std::unique_ptr<EunomiaResultFile> file; /**< null where someone else writes it */
        bool published = false;
    };

    void Prepare(const std::vector<std::string> &names, const std::vector<std::string> &others);
    void Refuse(const std::string &name) const;
    void MakeFolders();
    void RemoveOld(const std::string &name);
    void RollBack();
    std::filesystem::path Final(const std::string &name) const;
    std::filesystem::path Part(const std::string &name) const;

    std::filesystem::path m_path;
    bool m_force;
    bool m_committed = false;
    std::vector<std::filesystem::path> m_made; /**< folders made here, outermost first */
    std::vector<Entry> m_entries;
};

} // namespace ns3

#endif
