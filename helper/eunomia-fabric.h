// SPDX-License-Identifier: GPL-2.0-only
#ifndef EUNOMIA_FABRIC_H
#define EUNOMIA_FABRIC_H

#include "core/wire/ideal.h"
#include "eunomia-link.h"
#include "eunomia-nic.h"
#include "eunomia-switch.h"

#include "ns3/node-container.h"

#include <string>
#include <vector>

namespace ns3 {

/**
 * \ingroup eunomia
 * \brief Hosts and switches under construction, and the finished network.
 *
 * AddHost() and AddSwitch() create nodes with their NIC or switch aggregated, Connect() a cable,
 * Route() fills every switch's table with all shortest ways. Attributes come from the ns-3
 * defaults (Config::SetDefault, --ns3::...).
 *
 * \code
 *   EunomiaFabric fabric;
 *   uint32_t a = fabric.AddHost(), b = fabric.AddHost(), s = fabric.AddSwitch("tor");
 *   fabric.ConnectHost(a, s);
 *   fabric.ConnectHost(b, s);
 *   fabric.Route();
 *   uint32_t qp = fabric.GetNic(a)->Connect(fabric.GetNic(b), 3);
 * \endcode
 */
class EunomiaFabric {
  public:
    EunomiaFabric() = default;
    EunomiaFabric(const EunomiaFabric &) = delete;
    EunomiaFabric &operator=(const EunomiaFabric &) = delete;

    /** Returns the host's number, from 0. */
    uint32_t AddHost();
    /** Returns the switch's number, from 0; `name` appears in results. */
    uint32_t AddSwitch(const std::string &name);
    /** One cable with the default attributes of EunomiaLink. */
    void ConnectHost(uint32_t host, uint32_t sw);
    void ConnectSwitches(uint32_t a, uint32_t b);
    /** Fills the tables; every host must be able to reach every other. */
    void Route();
    /**
     * Fixes all parameters and streams (from `stream` on). Returns "" or what is wrong with an
     * attribute.
     */
    std::string Configure(int64_t stream);

    uint32_t GetNHosts() const { return static_cast<uint32_t>(m_nics.size()); }
    uint32_t GetNSwitches() const { return static_cast<uint32_t>(m_switches.size()); }
    Ptr<EunomiaNic> GetNic(uint32_t host) const { return m_nics.at(host); }
    Ptr<EunomiaSwitch> GetSwitch(uint32_t sw) const { return m_switches.at(sw); }
    const std::string &GetSwitchName(uint32_t sw) const { return m_names.at(sw); }
    const std::vector<Ptr<EunomiaLink>> &GetLinks() const { return m_links; }
    const NodeContainer &GetHosts() const { return m_hostNodes; }
    const NodeContainer &GetSwitches() const { return m_switchNodes; }
    /** Links between two hosts on a shortest way. */
    uint32_t GetPathLength(uint32_t src, uint32_t dst) const;
    /** Round trip of a full data packet one way and an ACK back, unloaded, in picoseconds. */
    int64_t GetBaseRtt(uint32_t src, uint32_t dst) const;

    /** Unloaded FCT in picoseconds (core/wire/ideal.h); `multipath`: packets may take many ways. */
    int64_t GetIdealFct(uint32_t src, uint32_t dst, uint64_t bytes, bool multipath) const;

    /** Frames and bytes, counted at independent places; see Conserved(). */
    struct Totals {
        uint64_t hops = 0;     //!< frames put on links
        uint64_t hopBytes = 0; //!< their stored lengths
        uint64_t made = 0; //!< frames that came to exist: by NICs; pauses and signals by switches
        uint64_t delivered =
            0; //!< frames that reached a NIC, the port to pause, or as a signal its switch
        uint64_t dropped = 0;     //!< by switches
        uint64_t queued = 0;      //!< in ports, or held by switches, at this moment
        uint64_t inFlight = 0;    //!< on links, at this moment
        uint64_t bufferBytes = 0; //!< accounted in shared buffers, at this moment
        uint64_t pauses = 0;      //!< XOFF frames
        uint64_t marks = 0;       //!< CE
        uint64_t deflected = 0;   //!< data frames that took another port than their way
        int64_t pausedPs = 0;     //!< over ports and priorities
    };

    Totals GetTotals() const;
    /** made = delivered + dropped + queued + in flight, and every shared buffer is consistent. */
    bool Conserved(std::string *problem) const;

  private:
    struct Neighbour {
        uint32_t sw;          //!< switch at the other end
        uint16_t port;        //!< own port towards it
        int64_t delayPs = 0;  //!< of the link, as it is when the fabric is configured, ...
        double psPerByte = 0; //!< ... and what a byte takes on it
    };

    eun_path GetPath(uint32_t src, uint32_t dst, bool multipath) const;
    Ptr<EunomiaPort> AddPort(Ptr<Node> node);
    Ptr<EunomiaLink> Cable(Ptr<EunomiaPort> a, Ptr<EunomiaPort> b);
    std::vector<uint32_t> DistancesTo(uint32_t sw) const;
    void TellLeaves();
    /** "" where INT can speak of every link. */
    std::string CheckInt() const;
    void MeasureLinks();
    std::vector<EunomiaLeafWay> WaysTo(uint32_t sw) const;

    uint32_t m_mostSwitches = 0; //!< on a shortest way between two hosts
    NodeContainer m_hostNodes;
    NodeContainer m_switchNodes;
    std::vector<Ptr<EunomiaNic>> m_nics;
    std::vector<Ptr<EunomiaSwitch>> m_switches;
    std::vector<std::string> m_names;
    std::vector<Ptr<EunomiaLink>> m_links;
    std::vector<uint32_t> m_hostSwitch;               //!< [host]
    std::vector<uint16_t> m_hostPort;                 //!< [host]: port of its switch
    std::vector<std::vector<Neighbour>> m_neighbours; //!< [switch]
    std::vector<std::vector<uint32_t>> m_distance;    //!< [switch][switch], links
};

/** Numbers of a leaf-spine (two-tier Clos) network. */
struct EunomiaClosConfig {
    uint32_t leaves = 8;
    uint32_t spines = 8;
    uint32_t hostsPerLeaf = 16;
};

/** Builds and routes it: hosts 0.. under leaf 0, and so on; one link per leaf and spine. */
void EunomiaBuildClos(EunomiaFabric &fabric, const EunomiaClosConfig &config);

} // namespace ns3

#endif
