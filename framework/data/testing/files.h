// Small files for the tests of the data room, and the errors that reading them gives.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark::data {

// A fresh, empty folder for the running test.
std::string test_folder();
void write_file(const std::string& path, std::string_view contents);
std::string gzip(std::string_view contents);
// An IDX file of unsigned bytes: magic number, big-endian dimensions, contents.
std::string idx(std::initializer_list<unsigned> dims, std::string_view contents);

// "CODE: message" of the Error that `action` throws, "" if it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
    return "";
  } catch (const Error& e) {
    return std::string(to_string(e.code())) + ": " + e.what();
  }
}

}  // namespace tidemark::data
