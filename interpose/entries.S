// The exported functions: one jump each through tensorpager_entries, so that every register, the stack and the return address
// are the caller's. (A plain call would change the return address, by which the loader finds the caller's RPATH and RTLD_NEXT.)
//
//   tensorpager_entries[row]  where the exported function of that row goes: at first to `first call` below, later to the real
//                             driver's function, to the hook, or to a function that returns an error
//   tensorpager_exports[row]  the exported function itself: what cuGetProcAddress hands out for a hook

        .macro  row exported
        .text
        .globl  \exported
        .type   \exported, @function
\exported:
.Lexport_\exported:
        .cfi_startproc
        jmp     *tensorpager_entries + 8 * tensorpager_row(%rip)
        .cfi_endproc
        .size   \exported, . - \exported
.Lfirst_\exported:
        movl    $tensorpager_row, %r11d         // r11 carries no argument
        jmp     .Lfirst_call
        .section .data.rel.local.tensorpager_entries, "aw", @progbits
        .quad   .Lfirst_\exported
        .section .data.rel.ro.local.tensorpager_exports, "aw", @progbits
        .quad   .Lexport_\exported
        .set    tensorpager_row, tensorpager_row + 1
        .endm

        .set    tensorpager_row, 0
        .section .data.rel.local.tensorpager_entries, "aw", @progbits
        .balign 8
        .globl  tensorpager_entries
        .hidden tensorpager_entries
tensorpager_entries:
        .section .data.rel.ro.local.tensorpager_exports, "aw", @progbits
        .balign 8
        .globl  tensorpager_exports
        .hidden tensorpager_exports
tensorpager_exports:

#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture) row exported
#include "runtime/driver_symbols.def"

// Opens the driver, then goes where the call would have gone. Everything that can carry an argument is kept: rdi to r9, al
// (variadic functions), r10, xmm0 to xmm7; arguments on the stack are not touched.
        .text
        .type   .Lfirst_call, @function
.Lfirst_call:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        andq    $-16, %rsp
        movq    %rdi, 0(%rsp)
        movq    %rsi, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %rcx, 24(%rsp)
        movq    %r8, 32(%rsp)
        movq    %r9, 40(%rsp)
        movq    %rax, 48(%rsp)
        movq    %r10, 56(%rsp)
        movaps  %xmm0, 64(%rsp)
        movaps  %xmm1, 80(%rsp)
        movaps  %xmm2, 96(%rsp)
        movaps  %xmm3, 112(%rsp)
        movaps  %xmm4, 128(%rsp)
        movaps  %xmm5, 144(%rsp)
        movaps  %xmm6, 160(%rsp)
        movaps  %xmm7, 176(%rsp)
        movl    %r11d, %edi
        call    tensorpager_first_call
        movq    %rax, %r11
        movq    0(%rsp), %rdi
        movq    8(%rsp), %rsi
        movq    16(%rsp), %rdx
        movq    24(%rsp), %rcx
        movq    32(%rsp), %r8
        movq    40(%rsp), %r9
        movq    48(%rsp), %rax
        movq    56(%rsp), %r10
        movaps  64(%rsp), %xmm0
        movaps  80(%rsp), %xmm1
        movaps  96(%rsp), %xmm2
        movaps  112(%rsp), %xmm3
        movaps  128(%rsp), %xmm4
        movaps  144(%rsp), %xmm5
        movaps  160(%rsp), %xmm6
        movaps  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        jmp     *%r11
        .cfi_endproc

        .section .note.GNU-stack, "", @progbits
