/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-result-folder.h"

#include <cerrno>
#include <cstring>
#include <ns3/abort.h>

namespace ns3 {

namespace fs = std::filesystem;

EunomiaResultFile::EunomiaResultFile(const std::string &path)
    : m_path(path), m_file(std::fopen(path.c_str(), "wb"))
{
    if (m_file == nullptr) {
        Fail("cannot create");
    }
    m_text.reserve(2 * FLUSH_BYTES);
}

EunomiaResultFile::~EunomiaResultFile()
{
    if (m_file != nullptr) {
        std::fclose(m_file);
    }
}

void EunomiaResultFile::Fail(const char *what) const
{
    throw EunomiaInputError(m_path, 0, "", std::string(what) + ": " + std::strerror(errno));
}

void EunomiaResultFile::Flush()
{
    size_t written = std::fwrite(m_text.data(), 1, m_text.size(), m_file);
    if (written != m_text.size()) {
        Fail("cannot write");
    }
    m_text.clear();
}

void EunomiaResultFile::Close()
{
    Flush();
    std::FILE *file = m_file;
    m_file = nullptr;
    if (std::fclose(file) != 0) {
        Fail("cannot write");
    }
}

EunomiaResultFolder::EunomiaResultFolder(const std::string &path,
                                         const std::vector<std::string> &names,
                                         const std::vector<std::string> &others, bool force)
    : m_path(path), m_force(force)
{
    if (path.empty()) {
        throw EunomiaInputError("--out", 0, "", "the name of a folder expected");
    }
    try {
        Prepare(names, others);
    } catch (...) {
        RollBack();
        throw;
    }
}

EunomiaResultFolder::~EunomiaResultFolder()
{
    if (!m_committed) {
        RollBack();
    }
}

void EunomiaResultFolder::Prepare(const std::vector<std::string> &names,
                                  const std::vector<std::string> &others)
{
    for (const auto *list : {&names, &others}) {
        for (const std::string &name : *list) {
            Refuse(name);
        }
    }
    MakeFolders();
    for (const std::string &name : names) {
        auto file = std::make_unique<EunomiaResultFile>(Part(name).string());
        m_entries.push_back({name, std::move(file)});
    }
    /* Last, so that a folder that turns out not to be writable keeps its earlier results. */
    for (const auto *list : {&names, &others}) {
        for (const std::string &name : *list) {
            RemoveOld(name);
        }
    }
}

void EunomiaResultFolder::Refuse(const std::string &name) const
{
    std::error_code ignored;
    if (!m_force && fs::exists(fs::symlink_status(Final(name), ignored))) {
        throw EunomiaInputError(m_path.string(), 0, "",
                                "holds results already (" + name +
                                    "); another folder or --force expected");
    }
}

void EunomiaResultFolder::MakeFolders()
{
    fs::path folder;
    std::error_code error;
    for (const fs::path &part : m_path) {
        folder /= part;
        if (part.empty() || fs::is_directory(folder, error)) {
            continue;
        }
        if (fs::exists(folder, error)) {
            error = std::make_error_code(std::errc::not_a_directory);
        } else if (fs::create_directory(folder, error)) {
            m_made.push_back(folder);
        }
        if (error) {
            throw EunomiaInputError(m_path.string(), 0, "",
                                    "cannot create the folder: " + error.message());
        }
    }
}

void EunomiaResultFolder::RemoveOld(const std::string &name)
{
    std::error_code error;
    fs::remove(Final(name), error);
    if (error) {
        throw EunomiaInputError(Final(name).string(), 0, "",
                                "cannot remove the earlier result: " + error.message());
    }
}

void EunomiaResultFolder::RollBack()
{
    std::error_code ignored;
    for (Entry &entry : m_entries) {
        entry.file.reset();
        fs::remove(entry.published ? Final(entry.name) : Part(entry.name), ignored);
    }
    m_entries.clear();
    for (size_t i = m_made.size(); i > 0; i--) {
        fs::remove(m_made[i - 1], ignored); /* stays where someone else put a file into it */
    }
    m_made.clear();
}

EunomiaResultFile &EunomiaResultFolder::File(const std::string &name)
{
    for (Entry &entry : m_entries) {
        if (entry.name == name && entry.file != nullptr) {
            return *entry.file;
        }
    }
    NS_ABORT_MSG("no result file " << name);
}

std::string EunomiaResultFolder::Adopt(const std::string &name)
{
    Refuse(name);
    RemoveOld(name);
    m_entries.insert(m_entries.begin(), Entry{name, nullptr});
    return Part(name).string();
}

void EunomiaResultFolder::Commit()
{
    for (Entry &entry : m_entries) {
        if (entry.file != nullptr) {
            entry.file->Close();
        }
    }
    for (Entry &entry : m_entries) {
        std::error_code error;
        fs::rename(Part(entry.name), Final(entry.name), error);
        if (error) {
            throw EunomiaInputError(Final(entry.name).string(), 0, "",
                                    "cannot write: " + error.message());
        }
        entry.published = true;
    }
    m_committed = true;
}

fs::path EunomiaResultFolder::Final(const std::string &name) const
{
    return m_path / name;
}

fs::path EunomiaResultFolder::Part(const std::string &name) const
{
    return m_path / (name + ".part");
}

} // namespace ns3
