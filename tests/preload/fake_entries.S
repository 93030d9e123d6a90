// A driver that does nothing but remember: every exported function stores its registers and 16 words of the stack, then counts.
// fake_other_addresses[row] is the same function at an address that is not exported.

        .macro  row exported
        .globl  \exported
        .type   \exported, @function
\exported:
.Lown_\exported:
        .ifc    \exported, cuGetProcAddress
        jmp     fake_get_proc_address
        .else
        .ifc    \exported, cuGetProcAddress_v2
        jmp     fake_get_proc_address_v2
        .else
        movl    $fake_row, %eax
        jmp     fake_record
        .endif
        .endif
        .size   \exported, . - \exported
.Lother_\exported:
        jmp     .Lown_\exported
        .section .data.rel.ro.local.fake_other_addresses, "aw", @progbits
        .quad   .Lother_\exported
        .text
        .set    fake_row, fake_row + 1
        .endm

        .section .data.rel.ro.local.fake_other_addresses, "aw", @progbits
        .balign 8
        .globl  fake_other_addresses
        .hidden fake_other_addresses
fake_other_addresses:
        .text
        .set    fake_row, 0
#define TENSORPAGER_DRIVER_SYMBOL(exported, base, version, stream, class, capture) row exported
#include "runtime/driver_symbols.def"

fake_record:
        leaq    fake_last_local(%rip), %r11
        movq    %rdi, 0(%r11)
        movq    %rsi, 8(%r11)
        movq    %rdx, 16(%r11)
        movq    %rcx, 24(%r11)
        movq    %r8, 32(%r11)
        movq    %r9, 40(%r11)
        movsd   %xmm0, 48(%r11)
        movsd   %xmm1, 56(%r11)
        movsd   %xmm2, 64(%r11)
        movsd   %xmm3, 72(%r11)
        movsd   %xmm4, 80(%r11)
        movsd   %xmm5, 88(%r11)
        movsd   %xmm6, 96(%r11)
        movsd   %xmm7, 104(%r11)
        .set    word, 0
        .rept   16
        movq    8 + 8 * word(%rsp), %r10
        movq    %r10, 112 + 8 * word(%r11)
        .set    word, word + 1
        .endr
        movl    %eax, %edi
        subq    $8, %rsp
        call    fake_called
        addq    $8, %rsp
        ret

        .bss
        .balign 16
        .globl  fake_last
        .type   fake_last, @object
        .size   fake_last, 240
fake_last:
fake_last_local:
        .skip   240
        .section .note.GNU-stack, "", @progbits
