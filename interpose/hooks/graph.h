#pragma once

// Graphs built by hand: the operands of a node stay resident, since launches of the graph do not name them.

#include "interpose/hooks/copy.h"
#include "interpose/hooks/pin.h"

namespace tensorpager {

// What is pinned for each kind of node.
inline CUresult pin_node(const Call& call, const CUDA_KERNEL_NODE_PARAMS_v1& node) {
  return on_pin_launch(node.func, node.kernelParams, node.extra, call.forward);
}
template <class KernelNode>
CUresult pin_kernel_node(const Call& call, const KernelNode& node) {
  const CUfunction function = node.func != nullptr ? node.func : reinterpret_cast<CUfunction>(node.kern);
  return on_pin_launch(function, node.kernelParams, node.extra, call.forward);
}
inline CUresult pin_node(const Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& node) {
  return pin_kernel_node(call, node);
}
inline CUresult pin_node(const Call& call, const CUDA_MEMCPY3D& node) {
  return on_pin({device_side(node.dstMemoryType, node.dstDevice), device_side(node.srcMemoryType, node.srcDevice)},
                call.on_null(), call.forward);
}
inline CUresult pin_node(const Call& call, const CUDA_MEMSET_NODE_PARAMS& node) {
  return on_pin({node.dst}, call.on_null(), call.forward);
}
inline CUresult pin_node(const Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS& node) {
  return pin_operations(call, node.paramArray, node.count, nullptr);
}
inline CUresult pin_node(const Call& call, const CUgraphNodeParams& node) {
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return pin_kernel_node(call, node.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return pin_node(call, node.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return on_pin({node.memset.dst}, call.on_null(), call.forward);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return pin_operations(call, node.memOp.paramArray, node.memOp.count, nullptr);
    case CU_GRAPH_NODE_TYPE_HOST:
      note_host_wait();
      return call.forward();
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return on_plain_alloc(&node.alloc.dptr, node.alloc.bytesize, call.forward);
    default:
      return call.forward();
  }
}
template <class Node>
CUresult pin_node_at(const Call& call, const Node* node) {
  return node == nullptr ? call.forward() : pin_node(call, *node);
}

// Nodes are added, changed, or changed in an instantiated graph; some also name a context.
template <class Node>
CUresult add_node(const Call& call, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const Node* node) {
  return pin_node_at(call, node);
}
template <class Node>
CUresult add_node_in(const Call& call, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, const Node* node,
                     CUcontext) {
  return pin_node_at(call, node);
}
template <class Node>
CUresult set_node(const Call& call, CUgraphNode, const Node* node) {
  return pin_node_at(call, node);
}
template <class Node>
CUresult set_exec_node(const Call& call, CUgraphExec, CUgraphNode, const Node* node) {
  return pin_node_at(call, node);
}
template <class Node>
CUresult set_exec_node_in(const Call& call, CUgraphExec, CUgraphNode, const Node* node, CUcontext) {
  return pin_node_at(call, node);
}
TENSORPAGER_HOOK(cuGraphAddKernelNode, add_node<CUDA_KERNEL_NODE_PARAMS_v1>)
TENSORPAGER_HOOK(cuGraphAddKernelNode_v2, add_node<CUDA_KERNEL_NODE_PARAMS_v2>)
TENSORPAGER_HOOK(cuGraphKernelNodeSetParams, set_node<CUDA_KERNEL_NODE_PARAMS_v1>)
TENSORPAGER_HOOK(cuGraphKernelNodeSetParams_v2, set_node<CUDA_KERNEL_NODE_PARAMS_v2>)
TENSORPAGER_HOOK(cuGraphExecKernelNodeSetParams, set_exec_node<CUDA_KERNEL_NODE_PARAMS_v1>)
TENSORPAGER_HOOK(cuGraphExecKernelNodeSetParams_v2, set_exec_node<CUDA_KERNEL_NODE_PARAMS_v2>)
TENSORPAGER_HOOK(cuGraphAddMemcpyNode, add_node_in<CUDA_MEMCPY3D>)
TENSORPAGER_HOOK(cuGraphMemcpyNodeSetParams, set_node<CUDA_MEMCPY3D>)
TENSORPAGER_HOOK(cuGraphExecMemcpyNodeSetParams, set_exec_node_in<CUDA_MEMCPY3D>)
TENSORPAGER_HOOK(cuGraphAddMemsetNode, add_node_in<CUDA_MEMSET_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphMemsetNodeSetParams, set_node<CUDA_MEMSET_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphExecMemsetNodeSetParams, set_exec_node_in<CUDA_MEMSET_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphAddBatchMemOpNode, add_node<CUDA_BATCH_MEM_OP_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphBatchMemOpNodeSetParams, set_node<CUDA_BATCH_MEM_OP_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphExecBatchMemOpNodeSetParams, set_exec_node<CUDA_BATCH_MEM_OP_NODE_PARAMS>)
TENSORPAGER_HOOK(cuGraphNodeSetParams, set_node<CUgraphNodeParams>)
TENSORPAGER_HOOK(cuGraphExecNodeSetParams, set_exec_node<CUgraphNodeParams>)

inline CUresult add_any_node_v1(const Call& call, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                                CUgraphNodeParams* node) {
  return pin_node_at(call, node);
}
inline CUresult add_any_node(const Call& call, CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                             std::size_t, CUgraphNodeParams* node) {
  return pin_node_at(call, node);
}
TENSORPAGER_HOOK(cuGraphAddNode, add_any_node_v1)
TENSORPAGER_HOOK(cuGraphAddNode_v2, add_any_node)

// Counted when the node is made and never taken back: an upper bound of what the graph's own pool holds.
inline CUresult add_alloc_node(const Call& call, CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t,
                               CUDA_MEM_ALLOC_NODE_PARAMS* node) {
  return node == nullptr ? call.forward() : on_plain_alloc(&node->dptr, node->bytesize, call.forward);
}
TENSORPAGER_HOOK(cuGraphAddMemAllocNode, add_alloc_node)

inline CUresult launch_graph(const Call& call, CUgraphExec, CUstream stream) {
  return on_graph_launch(call.on(stream), call.forward);
}
TENSORPAGER_HOOKS(cuGraphLaunch, _ptsz, launch_graph)

}  // namespace tensorpager
