// SPDX-License-Identifier: GPL-2.0-only
#include "eunomia-options.h"

#include "core/congestion/congestion.h"
#include "core/reorder/controller.h"
#include "core/switch/balancer.h"
#include "core/transport/transport.h"
#include "eunomia-combination.h"
#include "eunomia-size-cdf.h"

#include "ns3/command-line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ns3 {

namespace {

struct Unit {
    const char *name;
    double factor;
};

/** Value of `number unit`; the number has digits and at most one point. */
double ParseUnits(const std::string &option, const std::string &text,
                  const std::vector<Unit> &units, const char *what)
{
    size_t digits = 0;
    while (digits < text.size() &&
           (isdigit(static_cast<unsigned char>(text[digits])) || text[digits] == '.')) {
        digits++;
    }
    const std::string number = text.substr(0, digits);
    const std::string name = text.substr(digits);
    const bool wellFormed = std::count(number.begin(), number.end(), '.') <= 1 &&
                            number.find_first_of("0123456789") != std::string::npos;
    for (const Unit &unit : units) {
        if (wellFormed && name == unit.name) {
            return std::strtod(number.c_str(), nullptr) * unit.factor;
        }
    }
    throw EunomiaInputError(option, 0, "", "'" + text + "' is no " + what);
}

template <typename T>
std::vector<std::string> Names(const T *const *table)
{
    std::vector<std::string> names;
    for (; *table; table++) {
        names.push_back((*table)->name);
    }
    return names;
}

std::string Join(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

} // namespace

int64_t EunomiaParseTime(const std::string &option, const std::string &text)
{
    if (text == "0") {
        return 0;
    }
    const double ps =
        ParseUnits(option, text, {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}},
                   "time such as 256us or 2ms");
    if (ps > 1e17) {
        throw EunomiaInputError(option, 0, "", "'" + text + "' is longer than 100000 s");
    }
    return std::llround(ps);
}

uint64_t EunomiaParseRate(const std::string &option, const std::string &text)
{
    const double bps = ParseUnits(
        option, text, {{"bps", 1}, {"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {"Tbps", 1e12}},
        "rate such as 100Gbps");
    if (bps < 1e6 || bps > 1e13) {
        throw EunomiaInputError(option, 0, "", "'" + text + "' is not in 1Mbps..10Tbps");
    }
    return static_cast<uint64_t>(std::llround(bps));
}

uint64_t EunomiaParseSize(const std::string &option, const std::string &text)
{
    const double bytes = ParseUnits(option, text,
                                    {{"", 1},
                                     {"B", 1},
                                     {"KB", 1e3},
                                     {"MB", 1e6},
                                     {"GB", 1e9},
                                     {"KiB", 1024},
                                     {"MiB", 1048576},
                                     {"GiB", 1073741824}},
                                    "size such as 9MiB");
    if (bytes > 1e15) {
        throw EunomiaInputError(option, 0, "", "'" + text + "' is too large");
    }
    return static_cast<uint64_t>(std::llround(bytes));
}

EunomiaOptions::EunomiaOptions()
    : m_options{
          {"topology", "clos", "clos: leaves and spines, one link between each"},
          {"leaves", "8", "leaf switches, 1..1024"},
          {"spines", "8", "spine switches, 1..1024"},
          {"hostsPerLeaf", "16", "hosts under a leaf, 1..1024"},
          {"linkRate", "100Gbps", "rate of every link, 1Mbps..10Tbps"},
          {"linkDelay", "1us", "propagation delay of every link"},
          {"workload", "AliStorage2019",
           "flow sizes: AliStorage2019, Solar2022, WebSearch, FbHdp2015, GoogleRPC2008 or "
           "file:PATH (`bytes percent` a line); Poisson arrivals, uniform destinations"},
          {"flows", "", "flow list to play instead: count, then `src dst pg bytes start_s`"},
          {"load", "0.5", "payload a host offers, as a fraction of its rate / oversubscription"},
          {"oversubscription", "auto", "auto: hosts' rate over uplinks' rate of a leaf"},
          {"qp", "flow", "flow: a QP a flow; pair: one a host pair"},
          {"compat", "none", "none; conweave-ns3: that simulator's deviations, for comparison"},
          {"duration", "2ms", "how long generated flows keep arriving"},
          {"warmup", "0", "flows that start earlier are simulated but not reported"},
          {"drain", "100ms", "how long unfinished flows may go on after the last start"},
          {"lb", "spray",
           "load balancer: " + Join(Names(eun_balancers)) +
               "; mprdma: ecmp, which follows its "
               "choice of paths"},
          {"transport", "eunomia", "transport: " + Join(Names(eun_transports))},
          {"cc", "dcqcn", "congestion control: " + Join(Names(eun_ccs)) + "; mprdma: none"},
          {"window", "off",
           "cap on a QP's payload in flight: off, bdp, or bytes; irn, ddp, ddp-gbn: bdp or bytes"},
          {"pfc", "on", "on, off"},
          {"buffer", "9MiB", "shared buffer of a switch"},
          {"mtu", "1024", "payload bytes a packet, 256..9000 (1000 with conweave-ns3)"},
          {"overhead", "roce",
           "roce: real RoCEv2 bytes with preamble, FCS and gap; or bytes a data packet (48 with "
           "conweave-ns3)"},
          {"verb", "send", "send, write, write-imm"},
          {"gate", "auto",
           "none, sender, receiver; auto: sender for write on a reorder-tolerant transport"},
          {"gateScope", "qp", "sender gate waits for all of the qp, or the message"},
          {"ackEvery", "1", "in-order packets that one ACK covers, 1..65535"},
          {"poolBlocks", "1024", "2-byte blocks in the ordering pool of a NIC, 0..1000000"},
          {"reserve", "0",
           "blocks of the pool that only QPs which begin to reorder may take, 0..poolBlocks"},
          {"linkMetadata", "true",
           "false: reordering metadata needs 24 free blocks in a row, no chain of fragments"},
          {"qpCap", "256", "PSNs that a QP may hold ahead, 1..4096"},
          {"idleEpoch", "256us",
           "reordering metadata goes back after this: a time, or base round trips such as 32rtt"},
          {"banks", "1", "banks of the pool, 1..1024"},
          {"allocTime", "10ns", "time that a bank takes for an allocation, up to 1s; 0: none"},
          {"pipelines", "1", "ingress pipelines of a NIC, in order each, 1..1024"},
          {"cacheBlocks", "16",
           "allocations that a pipeline has ready for each bank, 0..1024; 0: no cache"},
          {"seed", "1", "1..4294967295; same options and seed: same bytes"},
          {"out", "", "result folder"},
          {"sample", "0", "interval of timeseries.csv, such as 10us; 0: none"},
          {"force", "false", "replace results in --out"},
          {"legacy", "false", "write fct.txt in the columns of HPCC and ConWeave, too"},
          {"reorderLog", "false",
           "write reorder.csv, too: bursts of reordering, a row a burst and millisecond"},
      }
{
}

EunomiaOptions::Option &EunomiaOptions::Find(const std::string &name)
{
    for (Option &option : m_options) {
        if (option.name == name) {
            return option;
        }
    }
    throw EunomiaInputError("--" + name, 0, "", "there is no such option; see --help");
}

const std::string &EunomiaOptions::Value(const std::string &name)
{
    return Find(name).value;
}

void EunomiaOptions::Take(const std::string &argument)
{
    if (argument.compare(0, 2, "--") != 0) {
        throw EunomiaInputError(argument, 0, "", "options look like --name=value; see --help");
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const bool hasValue = equals != std::string::npos;
    const std::string value = hasValue ? argument.substr(equals + 1) : "";
    if (name.compare(0, 5, "ns3::") == 0) {
        attributes.emplace_back(name, value);
        return;
    }
    Option &option = Find(name);
    const bool isSwitch =
        name == "force" || name == "legacy" || name == "reorderLog" || name == "linkMetadata";
    if (!hasValue && !isSwitch) {
        throw EunomiaInputError("--" + name, 0, "", "needs a value: --" + name + "=...");
    }
    option.value = hasValue ? value : "true";
    option.given = true;
}

void EunomiaOptions::Parse(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        const std::string argument = argv[i];
        if (argument == "--help" || argument.compare(0, 7, "--Print") == 0 ||
            argument == "--version") {
            CommandLine help(argv[0]);
            help.Usage("One simulation of an RDMA fabric.\n\nExit status: 0 done, 2 bad input, "
                       "3 flows left unfinished or failed, 4 internal inconsistency.");
            for (Option &option : m_options) {
                help.AddValue(option.name, option.help, option.value);
            }
            char *ask[] = {argv[0], argv[i], nullptr};
            help.Parse(2, ask);
            std::exit(0);
        }
        Take(argument);
    }
    Resolve();
}

uint64_t EunomiaOptions::Integer(const std::string &name, uint64_t low, uint64_t high)
{
    const std::string &text = Value(name);
    const bool digits =
        !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == text.npos;
    const uint64_t value = digits ? std::stoull(text) : 0;
    if (!digits || value < low || value > high) {
        throw EunomiaInputError("--" + name, 0, "",
                                "'" + text + "' is no whole number in " + std::to_string(low) +
                                    ".." + std::to_string(high));
    }
    return value;
}

double EunomiaOptions::Number(const std::string &name, double low, double high)
{
    const std::string &text = Value(name);
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    // `low` itself is no load and no ratio.
    if (text.empty() || *end || !(value > low) || value > high) {
        throw EunomiaInputError("--" + name, 0, "",
                                "'" + text + "' is no number above " + std::to_string(low) +
                                    ", up to " + std::to_string(high));
    }
    return value;
}

std::string EunomiaOptions::Choice(const std::string &name, const std::vector<std::string> &choices)
{
    const std::string &text = Value(name);
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
        throw EunomiaInputError("--" + name, 0, "", "'" + text + "' is none of " + Join(choices));
    }
    return text;
}

void EunomiaOptions::Resolve()
{
    conweave = Choice("compat", {"none", "conweave-ns3"}) == "conweave-ns3";
    if (conweave && !Find("mtu").given) {
        Find("mtu").value = "1000";
    }
    if (conweave && !Find("overhead").given) {
        Find("overhead").value = "48";
    }
    ResolveTopology();
    ResolveTraffic();
    ResolveTransport();
    seed = Integer("seed", 1, UINT32_MAX);
    out = Value("out");
    if (out.empty()) {
        throw EunomiaInputError("--out", 0, "", "needs a folder for the results");
    }
    samplePs = EunomiaParseTime("--sample", Value("sample"));
    force = Choice("force", {"false", "true"}) == "true";
    legacy = Choice("legacy", {"false", "true"}) == "true";
    reorderLog = Choice("reorderLog", {"false", "true"}) == "true";
}

void EunomiaOptions::ResolveTopology()
{
    Choice("topology", {"clos"});
    leaves = static_cast<uint32_t>(Integer("leaves", 1, 1024));
    spines = static_cast<uint32_t>(Integer("spines", 1, 1024));
    hostsPerLeaf = static_cast<uint32_t>(Integer("hostsPerLeaf", 1, 1024));
    if (Hosts() < 2) {
        throw EunomiaInputError("--hostsPerLeaf", 0, "", "one host has nobody to talk to");
    }
    linkRateBps = EunomiaParseRate("--linkRate", Value("linkRate"));
    linkDelayPs = EunomiaParseTime("--linkDelay", Value("linkDelay"));
    pfc = Choice("pfc", {"on", "off"}) == "on";
    bufferBytes = EunomiaParseSize("--buffer", Value("buffer"));
    if (bufferBytes == 0) {
        throw EunomiaInputError("--buffer", 0, "", "a switch without a buffer forwards nothing");
    }
    lb = Choice("lb", Names(eun_balancers));
    const double ratio = static_cast<double>(hostsPerLeaf) / spines;
    oversubscription = leaves > 1 ? std::max(1.0, ratio) : 1;
    if (Value("oversubscription") != "auto") {
        oversubscription = Number("oversubscription", 0, 1000);
    }
}

void EunomiaOptions::ResolveTraffic()
{
    workload = Value("workload");
    flows = Value("flows");
    load = Number("load", 0, 1000);
    qpPerPair = Choice("qp", {"flow", "pair"}) == "pair";
    durationPs = EunomiaParseTime("--duration", Value("duration"));
    if (durationPs <= 0) {
        throw EunomiaInputError("--duration", 0, "", "must be longer than 0");
    }
    warmupPs = EunomiaParseTime("--warmup", Value("warmup"));
    drainPs = EunomiaParseTime("--drain", Value("drain"));
}

void EunomiaOptions::ResolveTransport()
{
    transport = Choice("transport", Names(eun_transports));
    ResolveCongestion();
    ResolveWindow();
    mtu = static_cast<uint32_t>(Integer("mtu", 256, 9000));
    flatOverhead =
        Value("overhead") == "roce" ? 0 : static_cast<uint32_t>(Integer("overhead", 1, 1000));
    verb = Choice("verb", {"send", "write", "write-imm"});
    gate = Choice("gate", {"auto", "none", "sender", "receiver"});
    gateScope = Choice("gateScope", {"qp", "message"});
    ackEvery = static_cast<uint32_t>(Integer("ackEvery", 1, 65535));
    poolBlocks = static_cast<uint32_t>(Integer("poolBlocks", 0, 1000000));
    reserve = static_cast<uint32_t>(Integer("reserve", 0, poolBlocks));
    linkMetadata = Choice("linkMetadata", {"false", "true"}) == "true";
    qpCap = static_cast<uint32_t>(Integer("qpCap", 1, 4096));
    banks = static_cast<uint32_t>(Integer("banks", 1, 1024));
    allocTimePs = EunomiaParseTime("--allocTime", Value("allocTime"));
    if (allocTimePs > EUN_CONTROLLER_SERVICE_MAX) {
        throw EunomiaInputError("--allocTime", 0, "",
                                "'" + Value("allocTime") + "' is longer than 1 s");
    }
    pipelines = static_cast<uint32_t>(Integer("pipelines", 1, 1024));
    cacheBlocks = static_cast<uint32_t>(Integer("cacheBlocks", 0, 1024));
    ResolveIdleEpoch();
}

void EunomiaOptions::ResolveCongestion()
{
    const eun_transport &t = *eun_transport_find(transport.c_str());
    if (t.own_congestion_control && !Find("cc").given) {
        Find("cc").value = "none";
    }
    cc = Choice("cc", Names(eun_ccs));
    if (t.picks_paths && !Find("lb").given) {
        lb = "ecmp";
    }
    const EunomiaClash clash =
        EunomiaFindClash(*eun_balancer_find(lb.c_str()), t, *eun_cc_find(cc.c_str()));
    if (!clash.reason.empty()) {
        throw EunomiaInputError(clash.option, 0, "", clash.reason);
    }
}

void EunomiaOptions::ResolveWindow()
{
    window = Value("window");
    if (window != "off" && window != "bdp") {
        const uint64_t bytes = EunomiaParseSize("--window", window);
        if (bytes > UINT32_MAX) {
            throw EunomiaInputError("--window", 0, "", "'" + window + "' is 4 GiB or more");
        }
        window = std::to_string(bytes);
    }
    const eun_transport &t = *eun_transport_find(transport.c_str());
    if (t.ordering != EUN_ORDERING_FIXED || t.own_congestion_control) {
        return;
    }
    if (!Find("window").given) {
        window = "bdp";
    } else if (window == "off" || window == "0") {
        throw EunomiaInputError("--window", 0, "",
                                "'" + Value("window") + "' is no window, but " + transport +
                                    " has one, and a bitmap as long: bdp, or bytes");
    }
}

void EunomiaOptions::ResolveIdleEpoch()
{
    const std::string &text = Value("idleEpoch");
    if (text.find("rtt") != std::string::npos) {
        idleEpochRtts =
            ParseUnits("--idleEpoch", text, {{"rtt", 1}}, "time such as 256us or 32rtt");
    } else {
        idleEpochPs = EunomiaParseTime("--idleEpoch", text);
    }
    if (idleEpochPs == 0 && idleEpochRtts == 0) {
        throw EunomiaInputError("--idleEpoch", 0, "", "must be longer than 0");
    }
}

} // namespace ns3
