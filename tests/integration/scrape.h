// /metrics of a program under test, read as Prometheus reads it.
#pragma once

#include <map>
#include <string>

namespace tidemark::tests {

// A port that nobody had a moment ago.
int free_port();

// One scrape of 127.0.0.1. Series without their braces, values of equal names added up. Tries for ten seconds; then the
// test fails and the map is empty.
std::map<std::string, double> scrape(int port);

}  // namespace tidemark::tests
