// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_TEST_EXPERIMENT_H
#define EUNOMIA_TEST_EXPERIMENT_H

/** Runs experiments in a test as eunomia-sim would, and reads what they write. */

#include "../fabric/eunomia-test-fabric.h"
#include "eunomia-experiment.h"
#include "eunomia-test-folder.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ns3 {

using EunomiaTestWords = std::vector<std::string>;

/** Options from words as on a command line. \throws EunomiaInputError */
inline EunomiaOptions EunomiaTestOptions(EunomiaTestWords words)
{
    words.insert(words.begin(), "eunomia-sim");
    std::vector<char *> argv;
    for (std::string &word : words) {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    EunomiaOptions options;
    options.Parse(static_cast<int>(words.size()), argv.data());
    return options;
}

/** What one run came to. */
struct EunomiaTestRun {
    EunomiaExperiment::Status status = EunomiaExperiment::BAD_INPUT;
    EunomiaFabric::Totals totals;
    int64_t endPs = 0; //!< simulated time at the end

    /** \throws EunomiaInputError */
    explicit EunomiaTestRun(const EunomiaTestWords &words)
    {
        EunomiaTestSimulation simulation;
        EunomiaExperiment experiment(EunomiaTestOptions(words));
        status = experiment.Run();
        totals = experiment.GetFabric().GetTotals();
        endPs = EunomiaNow();
    }
};

/** A table with a header row: rows of field by column name. */
class EunomiaTestCsv {
  public:
    explicit EunomiaTestCsv(const std::string &path)
    {
        std::istringstream text(EunomiaTestFolder::Read(path));
        std::string line;
        std::getline(text, line);
        const std::vector<std::string> columns = Split(line);
        while (std::getline(text, line)) {
            const std::vector<std::string> fields = Split(line);
            std::map<std::string, std::string> row;
            for (size_t i = 0; i < columns.size() && i < fields.size(); i++) {
                row[columns[i]] = fields[i];
            }
            rows.push_back(row);
        }
    }

    /** How many rows have that value in a column. */
    size_t Count(const std::string &column, const std::string &value) const
    {
        size_t n = 0;
        for (const auto &row : rows) {
            const auto field = row.find(column);
            n += field != row.end() && field->second == value;
        }
        return n;
    }

    std::vector<std::map<std::string, std::string>> rows;

  private:
    static std::vector<std::string> Split(const std::string &line)
    {
        std::vector<std::string> fields;
        std::istringstream text(line);
        std::string field;
        while (std::getline(text, field, ',')) {
            fields.push_back(field);
        }
        return fields;
    }
};

/** First number that follows `"key":` in a JSON text; -1 where there is none. */
inline double EunomiaTestNumber(const std::string &json, const std::string &key)
{
    const size_t at = json.find('"' + key + "\":");
    return at == std::string::npos ? -1 : std::strtod(json.c_str() + at + key.size() + 3, nullptr);
}

} // namespace ns3

#endif
