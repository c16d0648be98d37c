/* SPDX-License-Identifier: GPL-2.0-only */
#include "eunomia-result-folder.h"
#include "eunomia-test-folder.h"

#include <ns3/test.h>

using namespace ns3;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

const Names FILES = {"a.csv", "b.json"};
const Names OTHERS = {"c.csv"};

class CommitCase : public TestCase {
  public:
    CommitCase() : TestCase("all files at once, or none") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        std::string big(1 << 20, 'x');
        {
            EunomiaResultFolder folder(temp.Path("deep/er/out"), FILES, OTHERS, false);
            for (int i = 0; i < 3; i++) {
                *folder.File("a.csv").Text() += big;
                folder.File("a.csv").Written();
                NS_TEST_EXPECT_MSG_EQ(folder.File("a.csv").Text()->size(), 0,
                                      "written as it comes");
            }
            *folder.File("a.csv").Text() += "end";
            temp.Write("deep/er/out/x.pcap.part", "frames");
            NS_TEST_EXPECT_MSG_EQ(folder.Adopt("x.pcap"), temp.Path("deep/er/out/x.pcap.part"), "");
            Names parts = {"a.csv.part", "b.json.part", "x.pcap.part"};
            NS_TEST_EXPECT_MSG_EQ((temp.List("deep/er/out") == parts), true, "temporary names");
            folder.Commit();
        }
        Names all = {"a.csv", "b.json", "x.pcap"};
        NS_TEST_EXPECT_MSG_EQ((temp.List("deep/er/out") == all), true, "final names");
        std::string text = EunomiaTestFolder::Read(temp.Path("deep/er/out/a.csv"));
        NS_TEST_EXPECT_MSG_EQ((text == big + big + big + "end"), true, "every byte");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("deep/er/out/x.pcap")), "frames",
                              "adopted");
        {
            EunomiaResultFolder folder(temp.Path("new/out/"), FILES, OTHERS, false);
            temp.Write("new/out/x.pcap.part", "frames");
            folder.Adopt("x.pcap");
        }
        NS_TEST_EXPECT_MSG_EQ((temp.List() == Names{"deep"}), true,
                              "no trace of an unfinished run");
    }
};

class EarlierCase : public TestCase {
  public:
    EarlierCase() : TestCase("results of an earlier run, and other files") {}

  private:
    void DoRun() override
    {
        EunomiaTestFolder temp;
        std::string out = temp.Path("out");
        fs::create_directory(out);
        temp.Write("out/notes.txt", "mine");
        {
            EunomiaResultFolder folder(out, FILES, OTHERS, false);
        }
        NS_TEST_EXPECT_MSG_EQ((temp.List("out") == Names{"notes.txt"}), true, "as it was");
        for (const char *name : {"a.csv", "b.json", "c.csv"}) {
            temp.Write(std::string("out/") + name, "earlier");
            NS_TEST_EXPECT_MSG_EQ(
                EunomiaRefusal([&] { EunomiaResultFolder folder(out, FILES, OTHERS, false); }),
                out + ": holds results already (" + name + "); another folder or --force expected",
                "");
            NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(out + "/" + name), "earlier",
                                  "untouched");
            fs::remove(out + "/" + name);
        }
        temp.Write("out/a.csv", "earlier");
        temp.Write("out/c.csv", "earlier");
        temp.Write("out/x.pcap", "earlier");
        temp.Write("out/b.json.part", "of a run that was killed, longer than what is written now");
        {
            EunomiaResultFolder folder(out, FILES, OTHERS, true);
            folder.Adopt("x.pcap");
            temp.Write("out/x.pcap.part", "now");
            *folder.File("b.json").Text() += "now";
            folder.Commit();
        }
        Names now = {"a.csv", "b.json", "notes.txt", "x.pcap"};
        NS_TEST_EXPECT_MSG_EQ((temp.List("out") == now), true, "no earlier c.csv beside new files");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(out + "/a.csv"), "", "replaced");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(out + "/b.json"), "now", "replaced");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(out + "/x.pcap"), "now", "replaced");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(out + "/notes.txt"), "mine", "not ours");

        fs::create_directory(temp.Path("other"));
        temp.Write("other/x.pcap", "mine");
        EunomiaResultFolder other(temp.Path("other"), FILES, OTHERS, false);
        NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { other.Adopt("x.pcap"); }),
                              temp.Path("other") + ": holds results already (x.pcap); another "
                                                   "folder or --force expected",
                              "");
    }
};

class UnwritableCase : public TestCase {
  public:
    UnwritableCase() : TestCase("folders that cannot be written") {}

  private:
    static std::string Open(const std::string &path, bool force)
    {
        return EunomiaRefusal([&] { EunomiaResultFolder folder(path, FILES, OTHERS, force); });
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        std::string file = temp.Write("file", "mine");
        NS_TEST_EXPECT_MSG_EQ(Open("", false), "--out: the name of a folder expected", "");
        NS_TEST_EXPECT_MSG_EQ(Open(file, true),
                              file + ": cannot create the folder: Not a directory", "");
        NS_TEST_EXPECT_MSG_EQ(Open(file + "/out", true),
                              file + "/out: cannot create the folder: Not a directory", "");
        std::string tooLong = temp.Path("new/" + std::string(300, 'x'));
        NS_TEST_EXPECT_MSG_EQ(Open(tooLong, false),
                              tooLong + ": cannot create the folder: File name too long", "");
        NS_TEST_EXPECT_MSG_EQ((temp.List() == Names{"file"}), true, "nothing left");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(file), "mine", "untouched");

        /* A file that cannot be opened: earlier results stay even with force. */
        fs::create_directories(temp.Path("out/b.json.part/x"));
        temp.Write("out/a.csv", "earlier");
        NS_TEST_EXPECT_MSG_EQ(Open(temp.Path("out"), true),
                              temp.Path("out/b.json.part") + ": cannot create: Is a directory", "");
        NS_TEST_EXPECT_MSG_EQ((temp.List("out") == Names{"a.csv", "b.json.part"}), true,
                              "as it was");
        NS_TEST_EXPECT_MSG_EQ(EunomiaTestFolder::Read(temp.Path("out/a.csv")), "earlier", "kept");
    }
};

/** /dev/full accepts to be opened and refuses every byte, as a full disk does. */
class FullDiskCase : public TestCase {
  public:
    FullDiskCase() : TestCase("a disk that is full") {}

  private:
    static void Run(const std::string &path, size_t bytes)
    {
        EunomiaResultFolder folder(path, FILES, OTHERS, false);
        *folder.File("a.csv").Text() += "fine";
        *folder.File("b.json").Text() += std::string(bytes, 'x');
        folder.File("b.json").Written();
        folder.Commit();
    }

    void DoRun() override
    {
        EunomiaTestFolder temp;
        std::string out = temp.Path("out");
        fs::create_directory(out);
        for (size_t bytes : {size_t{1}, size_t{1} << 20}) {
            fs::create_symlink("/dev/full", out + "/b.json.part");
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { Run(out, bytes); }),
                                  out + "/b.json.part: cannot write: No space left on device", "");
            NS_TEST_EXPECT_MSG_EQ(temp.List("out").size(), 0, "nothing half-written");
        }
        {
            EunomiaResultFolder folder(out, FILES, OTHERS, false);
            fs::remove(out + "/b.json.part");
            NS_TEST_EXPECT_MSG_EQ(EunomiaRefusal([&] { folder.Commit(); }),
                                  out + "/b.json: cannot write: No such file or directory", "");
        }
        NS_TEST_EXPECT_MSG_EQ(temp.List("out").size(), 0, "what was published goes, too");
    }
};

class EunomiaResultFolderTestSuite : public TestSuite {
  public:
    EunomiaResultFolderTestSuite() : TestSuite("eunomia-result-folder", Type::UNIT)
    {
        AddTestCase(new CommitCase);
        AddTestCase(new EarlierCase);
        AddTestCase(new UnwritableCase);
        AddTestCase(new FullDiskCase);
    }
};

EunomiaResultFolderTestSuite g_eunomiaResultFolderTestSuite;

} // namespace
