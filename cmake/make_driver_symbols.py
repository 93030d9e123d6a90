#!/usr/bin/env python3
"""Prints runtime/driver_symbols.def for a CUDA toolkit: the stub library's exports with the versions of cudaTypedefs.h.

Use: cmake/make_driver_symbols.py <toolkit> > runtime/driver_symbols.def
Run it when a new toolkit adds names; the classes below are the only judgement in it.
"""
import collections
import pathlib
import re
import subprocess
import sys

HEADER = """\
// Every name that the toolkit's stub libcuda exports, one row each; made by cmake/make_driver_symbols.py.
//
//   TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture)
//
// exported  the symbol in libcuda.so.1
// base      the name that cuGetProcAddress is asked for
// version   the first CUDA version at which that request yields this symbol; 0: reached by dlsym only
// stream    what a NULL stream means: legacy, or per_thread (the _ptsz and _ptds variants)
// class     what passes through it, hence which hook it has:
//             launch   kernels                    alloc  gives device memory      free   takes it back
//             copy     copies and memsets         sync   waits for the device     stream changes what streams mean
//             info     answers about memory       module loads or unloads code    context drops device state
//             resolve  hands out driver functions pins   operands that stay resident from then on
//             forwards no hook
// capture   what it does while its stream is captured: node (becomes a node), forbidden (breaks a capture), none
"""

CLASSES = [  # first match wins
    ("resolve", r"cuGetProcAddress"),
    ("launch", r"cuLaunchKernel(Ex)?|cuLaunchCooperativeKernel|cuLaunch|cuLaunchGrid|cuLaunchGridAsync"),
    ("alloc", r"cuMemAlloc(Async|FromPoolAsync|Pitch|Managed)?"),
    ("free", r"cuMemFree(Async)?"),
    ("copy", r"cuMemcpy.*|cuMemset.*|cuMemBatchDecompressAsync"),
    ("sync", r"cuCtxSynchronize|cuStreamSynchronize|cuEventSynchronize"),
    ("stream", r"cuStreamDestroy|cuStreamBeginCapture.*|cuStreamEndCapture|cuLaunchHostFunc|cuStreamAddCallback"),
    ("info", r"cuMemGetInfo|cuMemGetAddressRange|cuPointerGetAttributes?"),
    ("module", r"cuModuleLoad.*|cuModuleUnload|cuLibraryLoad.*|cuLibraryUnload|cuLibraryGetKernel|cuLibraryEnumerateKernels"),
    ("context", r"cuCtxDestroy|cuDevicePrimaryCtxReset|cuDevicePrimaryCtxRelease"),
    ("pins", r"cuStreamWaitValue.*|cuStreamWriteValue.*|cuStreamBatchMemOp|cuGraphAdd.*Node|cuGraphAddNode|cuGraph(Exec)?.*NodeSetParams"
             r"|cuGraphLaunch|cuIpcGetMemHandle|cuMemGetHandleForAddressRange|cuTexObjectCreate|cuTexRefSetAddress(2D)?|cuTensorMap.*"
             r"|cuMemPoolExportPointer|cuPointerSetAttribute|cuMemAdvise|cuMemPrefetch.*|cuMemDiscard.*|cuStreamAttachMemAsync|cuParamSetv"),
]
# Graph nodes without operands.
NO_OPERANDS = r"cuGraph(Exec)?(Add)?(Empty|EventRecord|EventWait|Host|ChildGraph|ExternalSemaphores(Signal|Wait)|MemFree)Node(SetParams)?"
FORBIDDEN = r"cuMemAlloc(Pitch|Managed)?|cuMemFree|cuMemcpy(HtoD|DtoH|DtoD|Peer|2D|2DUnaligned|3D|3DPeer|AtoA|AtoD|AtoH|DtoA|HtoA)?|cuMemset(D8|D16|D32|D2D8|D2D16|D2D32)" \
            r"|cuCtxSynchronize|cuStreamSynchronize|cuEventSynchronize|cuCtxDestroy|cuDevicePrimaryCtxReset|cuStreamQuery|cuEventQuery"


def exported_names(stub):
    lines = subprocess.run(["nm", "-D", stub], check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[-1] for line in lines if " T " in line]


def versions(typedefs):
    found = collections.defaultdict(set)  # (base, suffix) -> versions
    for match in re.finditer(r"PFN_(cu\w+?)_v(\d{4,5})(_ptsz|_ptds)?\)", typedefs):
        found[match[1], match[3] or ""].add(int(match[2]))
    return found


def split(name):
    match = re.fullmatch(r"(cu[A-Za-z0-9]+?)(?:_v(\d))?(_ptsz|_ptds)?", name)
    return match[1], int(match[2] or 1), match[3] or ""


def classify(base, version):
    if re.fullmatch(NO_OPERANDS, base):
        return "forwards"
    class_ = next((name for name, pattern in CLASSES if re.fullmatch(pattern, base)), "forwards")
    # Before CUDA 3.2 addresses had 32 bits: they name no managed tensor. What takes memory is counted all the same.
    narrow = version < 3020 and (class_ in ("copy", "info") or base.startswith("cuTexRef"))
    return "forwards" if narrow else class_


def capture_rule(base, class_):
    if re.fullmatch(FORBIDDEN, base):
        return "forbidden"
    asynchronous = re.fullmatch(r"cuMem(cpy|set).*Async|cuLaunchHostFunc|cuStreamAddCallback", base)
    return "node" if class_ in ("launch", "copy", "alloc", "free") or asynchronous else "none"


def main(toolkit):
    root = pathlib.Path(toolkit)
    names = exported_names(root / "lib64/stubs/libcuda.so")
    known = versions((root / "include/cudaTypedefs.h").read_text())
    groups = collections.defaultdict(list)
    for name in names:
        base, revision, suffix = split(name)
        groups[base, suffix].append((revision, name))
    rows = []
    for (base, suffix), members in groups.items():
        # The newest typedef belongs to the newest revision, and so on downwards.
        newest_first = sorted(known.get((base, suffix), ()), reverse=True)
        for index, (_, name) in enumerate(sorted(members, reverse=True)):
            version = newest_first[index] if index < len(newest_first) else 0
            class_ = classify(base, version)
            rows.append((name, base, version, "per_thread" if suffix else "legacy", class_, capture_rule(base, class_)))
    print(HEADER)
    for row in sorted(rows):
        print(f"TENSORPAGER_DRIVER_SYMBOL({', '.join(map(str, row))})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
