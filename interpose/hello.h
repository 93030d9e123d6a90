#pragma once

namespace tensorpager {

/// What a launcher learns of the processes under it, a letter each, through the pipe that TENSORPAGER_INTERNAL_HELLO
/// names.
enum class Hello : char { loaded = 'L', driver_opened = 'D' };

/// Tells the launcher, if there is one. Writes only to the very pipe that was named: a program may have reused the
/// number.
void say_hello(Hello what) noexcept;

}  // namespace tensorpager
