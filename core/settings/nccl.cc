#include "core/settings/nccl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/environment.h"
#include "core/base/text.h"

namespace rondo {
namespace {

constexpr std::string_view prefix = "NCCL_";

/// The variables of NCCL 2.28 to 2.32, without the prefix, whether rondo honours them or not.
constexpr std::string_view variables =
    "ALGO ALLGATHERV_ENABLE ALLOC_P2P_NET_LL_BUFFERS BUFFSIZE CGA_CLUSTER_SIZE CHECK_MODE "
    "CHECK_POINTERS CHUNK_SIZE COLLNET_ENABLE COLLNET_NODE_THRESHOLD COMM_BLOCKING COMM_ID "
    "COMM_SHRINK_SHARE_RESOURCES COMM_SPLIT_SHARE_RESOURCES CONF_FILE CONNECT_ROUND_MAX_PEERS "
    "CREATE_THREAD_CONTEXT CROSS_NIC CTA_POLICY CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE "
    "DEBUG_LEVELS DEBUG_SUBSYS DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS DEV_API_JIT "
    "DISABLE_MEM_MANAGER DMABUF_ENABLE ELASTIC_BUFFER_REGISTER ENABLE_VERSION_CHECK ENV_PLUGIN "
    "GDAKI_USE_RELIABLE_DB GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE GDRCOPY_FLUSH_ENABLE "
    "GDRCOPY_SYNC_ENABLE GDR_FLUSH_DISABLE GIN_COUNTER_POOL_SIZE GIN_ENABLE GIN_ERROR_QUERY_SEC "
    "GIN_GDAKI_MAX_DEST_RD_ATOMIC GIN_GDAKI_MAX_QP_RD_ATOMIC GIN_GDAKI_NIC_HANDLER "
    "GIN_GDAKI_QP_DEPTH GIN_IB_TC GIN_NCONNECTIONS GIN_NCONTEXTS GIN_PLUGIN "
    "GIN_PLUGIN_REF_COUNT GIN_PROXY_QUEUE_SIZE GIN_SIGNAL_POOL_SIZE GIN_TYPE GRAPH_DUMP_FILE "
    "GRAPH_DUMP_FILE_RANK GRAPH_FILE GRAPH_HELPER_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER "
    "GRAPH_STREAM_ORDERING GROUP_CUDA_STREAM HIER_CE_COLL_AG_RAIL_RING_ENABLE HOSTID "
    "IBVERBS_LIB IB_ADAPTIVE_ROUTING IB_ADDR_FAMILY IB_ADDR_RANGE IB_AR_THRESHOLD "
    "IB_DATA_DIRECT IB_DEVICE_PCI_ORDER IB_DISABLE IB_ECE_ENABLE IB_EVENT_BASED_LB IB_FIFO_TC "
    "IB_GID_INDEX IB_HCA IB_MERGE_NICS IB_MERGE_VFS IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT "
    "IB_MQP_RETRY_SLEEP_MSEC IB_OOO_RQ IB_PCI_RELAXED_ORDERING IB_PKEY IB_PKEY_VALUE "
    "IB_PREPOST_RECEIVE_WORK_REQUESTS IB_QPS_PER_CONNECTION IB_QUERY_PORT_SPEED IB_RAIL_POLICY "
    "IB_RECEIVER_SIDE_MATCHING_SCHEME IB_RESILIENCY_PORT_FAILOVER "
    "IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY "
    "IB_RESILIENCY_PORT_RECOVERY IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX "
    "IB_RESILIENCY_PORT_RECOVERY_START_DELAY IB_RETRY_CNT IB_RETURN_ASYNC_EVENTS "
    "IB_ROCE_VERSION_NUM IB_ROUTABLE_FLID_GID_INDEX IB_SL IB_SPLIT_DATA_ON_QPS "
    "IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN IB_TC IB_TIMEOUT IB_USE_INLINE "
    "IB_WARN_RAIL_LOCAL IGNORE_COLLNET_MISMATCH IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P "
    "IGNORE_NET_MISMATCH IPC_USE_ABSTRACT_SOCKET L1_SHARED_MEMORY_CARVEOUT LAUNCH_MODE "
    "LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL LEGACY_CUDA_REGISTER LL128_BUFFSIZE LL128_C2C "
    "LL128_NTHREADS LL_BUFFSIZE LOCAL_REGISTER LSA_TEAM_SIZE MAX_CTAS MAX_NCHANNELS MAX_NRINGS "
    "MAX_P2P_NCHANNELS MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS "
    "MLOPART_RDMA_ENABLE MNNVL_CLIQUE_ID MNNVL_CROSS_CLIQUE MNNVL_ENABLE MNNVL_RAIL_PER_HOST "
    "MNNVL_SCATTER_NETS_ENABLE MNNVL_UUID MULTI_RANK_GPU_ENABLE MULTI_SEGMENT_REGISTER "
    "NCHANNELS_PER_NET_PEER NET NETDEVS_POLICY NET_DISABLE_INTRA NET_FORCE_FLUSH "
    "NET_FORCE_MERGE NET_GDR_C2C NET_GDR_LEVEL NET_GDR_MLOPART NET_GDR_READ NET_MERGE_LEVEL "
    "NET_MERGE_POLICY NET_OPTIONAL_RECV_COMPLETION NET_OVERHEAD NET_PLUGIN NET_PLUGIN_REF_COUNT "
    "NET_SHARED_BUFFERS NET_SHARED_COMMS NSOCKS_PERTHREAD NTHREADS NUM_RMA_CTX NVB_DISABLE "
    "NVB_PRECONNECT NVLINK_UTIL_CENTRIC_SCHED_ENABLE NVLSTREE_MAX_CHUNKSIZE NVLS_CHUNKSIZE "
    "NVLS_ENABLE NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE OOB_NET_IFNAME P2P_DIRECT_DISABLE "
    "P2P_DISABLE P2P_EPOCH_ENABLE P2P_LEVEL P2P_LL_THRESHOLD P2P_MAX_PEERS P2P_NET_CHUNKSIZE "
    "P2P_NVL_CHUNKSIZE P2P_PCI_CHUNKSIZE P2P_PER_CHANNEL_NET_BW P2P_PXN_LEVEL P2P_READ_ENABLE "
    "P2P_SCHEDULE_GROUP_SIZE P2P_USE_CUDA_MEMCPY PARAM_DUMP_ALL PAT_ENABLE PROFILER_PLUGIN "
    "PROGRESS_APPENDOP_FREQ PROTO PROXY_APPEND_BATCH_SIZE PROXY_CPUSET PROXY_DUMP_SIGNAL "
    "PXN_C2C PXN_DISABLE RAS_ADDR RAS_ENABLE RAS_TIMEOUT_FACTOR REPORT_CONNECT_PROGRESS "
    "RMA_DISABLE RMA_EAGER_INIT RMA_PLUGIN RMA_PLUGIN_REF_COUNT RMA_PROXY_DUMP_SIGNAL "
    "RMA_PROXY_QUEUE_SIZE RUNTIME_CONNECT SET_CPU_STACK_SIZE SET_STACK_SIZE SET_THREAD_NAME "
    "SHADOW_MEMPOOL_MAX_SIZE SHM_DISABLE SHM_LOCALITY SHM_MEMCPY_MODE SHM_USE_CUDA_MEMCPY "
    "SINGLE_PROC_MEM_REG_ENABLE SOCKET_FAMILY SOCKET_IFNAME SOCKET_INLINE SOCKET_MAGIC "
    "SOCKET_MIN_TASKSIZE SOCKET_NTHREADS SOCKET_POLL_TIMEOUT_MSEC SOCKET_RCVBUF "
    "SOCKET_RETRY_CNT SOCKET_RETRY_SLEEP_MSEC SOCKET_SNDBUF SYM_CE_THRESHOLD SYM_CTAS "
    "SYM_GIN_KERNELS_ENABLE SYM_KERNEL SYM_NOWIN_ENABLE SYM_REUSE_SYSMEM_HANDLES "
    "SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE THREAD_THRESHOLDS TOPO_DUMP_FILE TOPO_DUMP_FILE_RANK "
    "TOPO_FILE TOPO_SPLIT_MLOPART TUNER_PLUGIN UID_STAGGER_RATE UID_STAGGER_THRESHOLD "
    "UNPACK_DOUBLE_NCHANNELS WARN_ENABLE_DEBUG_INFO WIN_ENABLE WIN_STRIDE WORK_ARGS_BYTES "
    "WORK_FIFO_BYTES";

/// NCCL's names and rondo's. The caller leaves out names without a counterpart.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nccl_words{{
    {"ring", "ring"},
    {"tree", "double_tree"},
    {"allreduce", "all_reduce"},
    {"reducescatter", "reduce_scatter"},
    {"allgather", "all_gather"},
    {"broadcast", "broadcast"},
    {"reduce", "reduce"},
}};

std::optional<std::string> translate_word(const std::string& word) {
  for (const auto& [theirs, ours] : nccl_words) {
    if (theirs == lower_case(word)) return std::string(ours);
  }
  return std::nullopt;
}

std::string leave_out(std::string_view transport, Config& config) {
  config.transport += (config.transport.empty() ? "^" : ",") + std::string(transport);
  return {};
}

}  // namespace

std::optional<std::string> translate_algorithms(const std::string& value) {
  std::string text;
  for (const auto& part : split(value, ';')) {
    const auto colon = part.find(':');
    if (!text.empty()) text += ';';
    if (colon != std::string::npos) {
      const auto collective = translate_word(part.substr(0, colon));
      if (!collective) return std::nullopt;
      text += *collective + ":";
    }
    auto names = colon == std::string::npos ? part : part.substr(colon + 1);
    if (names.starts_with('^')) {
      text += '^';
      names.erase(0, 1);
    }
    std::string separator;
    for (const auto& name : split(names, ',')) {
      const auto ours = translate_word(name);
      if (!ours) return std::nullopt;
      text += separator + *ours;
      separator = ",";
    }
  }
  return text;
}

std::string leave_out_network(const std::string& value, Config& config) {
  const std::string name = lower_case(value);
  if (name != "socket" && name != "ib") return "is neither Socket nor IB";
  return leave_out(name == "socket" ? "verbs" : "tcp", config);
}

std::string leave_out_shm(const std::string& value, Config& config) {
  const auto number = parse_number(value);
  if (!number) return "is no number";
  return *number == 0 ? "" : leave_out("shm", config);  // NCCL takes every other one for a yes
}

bool is_harmless(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"NCCL_VERSION", "NCCL_ASYNC_ERROR_HANDLING",
                                                  "NCCL_BLOCKING_WAIT", "NCCL_CONF_FILE",
                                                  "NCCL_MULTI_RANK_GPU_ENABLE"};
  return name.starts_with("NCCL_TESTS_") || std::ranges::find(names, name) != names.end();
}

std::string words_of_what_was_meant(std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  const std::vector<std::string> texts = split(variables, ' ');
  const std::vector<std::string_view> known(texts.begin(), texts.end());
  if (std::ranges::find(known, name) != known.end()) return {};
  const std::string_view near = nearest(name, known);
  if (near.empty()) return {};
  return " (did you mean " + std::string(prefix) + std::string(near) + "?)";
}

}  // namespace rondo
