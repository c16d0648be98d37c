/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef EUNOMIA_TEST_FOLDER_H
#define EUNOMIA_TEST_FOLDER_H

/** What the tests of the readers and writers share: a folder that goes away, files, a seed. */

#include "eunomia-input-error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace ns3 {

/** A new empty folder, removed with all it holds when the object goes. */
class EunomiaTestFolder {
  public:
    EunomiaTestFolder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "eunomia-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            std::cerr << "cannot create " << name << std::endl;
            std::abort();
        }
        m_path = name;
    }
    ~EunomiaTestFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    EunomiaTestFolder(const EunomiaTestFolder &) = delete;
    EunomiaTestFolder &operator=(const EunomiaTestFolder &) = delete;

    std::string Path(const std::string &name) const { return (m_path / name).string(); }

    /** Path of a file in it that now holds `bytes`. */
    std::string Write(const std::string &name, const std::string &bytes) const
    {
        /* A new file: some file systems write one to disk at once where it is truncated. */
        std::filesystem::remove(m_path / name);
        std::ofstream(m_path / name, std::ios::binary) << bytes;
        return Path(name);
    }

    static std::string Read(const std::string &path)
    {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /** Names of what is in a folder of it, in order. */
    std::vector<std::string> List(const std::string &name = "") const
    {
        std::vector<std::string> names;
        for (const auto &entry : std::filesystem::directory_iterator(m_path / name)) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

  private:
    std::filesystem::path m_path;
};

/** The message with which `action` refuses its input; empty where it does not. */
template <typename Action>
std::string EunomiaRefusal(Action action)
{
    try {
        action();
    } catch (const EunomiaInputError &error) {
        return error.what();
    }
    return "";
}

/** Seed of random tests: the environment variable EUNOMIA_SEED, or 1. It is printed. */
inline uint32_t EunomiaTestSeed(const char *test)
{
    const char *text = std::getenv("EUNOMIA_SEED");
    uint32_t seed = text != nullptr ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
    seed = std::max(seed, 1u);
    std::cout << test << ": EUNOMIA_SEED=" << seed << std::endl;
    return seed;
}

} // namespace ns3

#endif
