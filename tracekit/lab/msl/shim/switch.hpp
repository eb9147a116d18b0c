// Going from one stack to another: saves what a called function must keep, and no more.
//
//   tracekit_switch(&left, entered)   leaves the present stack, whose pointer goes to `left`
//   prepared(top, enter)              a stack that starts in `enter` when it is entered first
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__APPLE__)
#define TRACEKIT_SYMBOL "_tracekit_switch"
#define TRACEKIT_DECLARED ".private_extern _tracekit_switch\n.p2align 4\n"
#else
#define TRACEKIT_SYMBOL "tracekit_switch"
#define TRACEKIT_DECLARED ".hidden tracekit_switch\n.p2align 4\n"
#endif

extern "C" void tracekit_switch(void** left, void* entered);

#if defined(__x86_64__)

constexpr int SAVED_WORDS = 6, RETURN_WORD = 6, PADDING_WORDS = 1;
asm(".text\n.globl " TRACEKIT_SYMBOL "\n" TRACEKIT_DECLARED TRACEKIT_SYMBOL ":\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n");

#elif defined(__aarch64__)

// x19 ... x30, then d8 ... d15; `ret` goes to x30.
constexpr int SAVED_WORDS = 20, RETURN_WORD = 11, PADDING_WORDS = 0;
asm(".text\n.globl " TRACEKIT_SYMBOL "\n" TRACEKIT_DECLARED TRACEKIT_SYMBOL ":\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");

#else
#error "Metal kernels run on x86-64 and arm64 only."
#endif

// On x86-64 `ret` takes the return address off the stack, so that `enter` finds the stack 8 bytes
// off a multiple of 16, as after a call; a null word takes the place of the caller's address.
inline void* prepared(char* top, void (*enter)()) {
  constexpr int words = (SAVED_WORDS > RETURN_WORD ? SAVED_WORDS : RETURN_WORD + 1) + PADDING_WORDS;
  const uintptr_t end = reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15);
  void** start = reinterpret_cast<void**>(end) - words;
  memset(start, 0, words * sizeof(void*));
  start[RETURN_WORD] = reinterpret_cast<void*>(enter);
  return start;
}
