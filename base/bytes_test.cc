#include "base/bytes.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace tidemark {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_byte_limit(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config);
    return e.what();
  }
  return "accepted";
}

TEST(ParseBytes, TakesPlainBytesAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("0"), 0);
  EXPECT_EQ(parse_bytes("1048576"), 1048576);
  EXPECT_EQ(parse_bytes("3KiB"), 3 * 1024);
  EXPECT_EQ(parse_bytes("512MiB"), int64_t{512} << 20);
  EXPECT_EQ(parse_bytes("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(parse_bytes("2TiB"), int64_t{2} << 40);
  EXPECT_EQ(parse_bytes(" 4 GiB "), int64_t{4} << 30);
}

TEST(ParseBytes, FractionsRoundDown) {
  EXPECT_EQ(parse_bytes("1.5GiB"), int64_t{3} << 29);
  EXPECT_EQ(parse_bytes("0.001KiB"), 1);
  EXPECT_EQ(parse_bytes("0.1GiB"), 107374182);
}

TEST(ParseBytes, LargeWholeNumbersStayExact) {
  EXPECT_EQ(parse_bytes("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993);
}

TEST(ParseBytes, RefusesTheRestAndSaysWhatIsAccepted) {
  for (const char* text : {"", "GiB", "-1", "-1GiB", "1e9", "inf", "1..5GiB", "4 4", "+3", ".", "0x10"}) {
    EXPECT_THROW(parse_bytes(text), Error) << text;
  }
  EXPECT_EQ(refusal("4Gbit"),
            "size '4Gbit' has the unknown unit 'Gbit'; write bytes (1048576) or a number with KiB, MiB, GiB or TiB "
            "(1.5GiB)");
  EXPECT_NE(refusal("1.5").find("fraction of a byte"), std::string::npos);
  EXPECT_NE(refusal("9223372036854775808").find("too large"), std::string::npos);
  EXPECT_NE(refusal("8388608TiB").find("too large"), std::string::npos);
  EXPECT_NE(refusal("8388608.0TiB").find("too large"), std::string::npos);
}

TEST(ParseBytes, ARefusalNamesTheNearestUnit) {
  for (const std::string unit : {"MB", "mib", "Mb", "m", "MIB", "M"})
    EXPECT_NE(refusal("140" + unit).find("unit '" + unit + "', nearest is 'MiB' (1048576 bytes); write "),
              std::string::npos)
        << refusal("140" + unit);
  EXPECT_NE(refusal("1 tb").find("nearest is 'TiB'"), std::string::npos);
  for (const char* unit : {"B", "PiB", "bytes", "Mbit", "MBB", "xiB", "MxB"})
    EXPECT_EQ(refusal("140" + std::string(unit)).find("nearest"), std::string::npos) << unit;
}

TEST(ParseBytes, NegativeSizesAndExponentsAreToldAsWhatTheyAre) {
  for (const std::string text : {"-1", "-5MiB", " -1", "-1e3", "-.5GiB"})
    EXPECT_EQ(refusal(text).rfind("size '" + text + "' is negative; write bytes", 0), 0u) << refusal(text);
  EXPECT_EQ(refusal("1e8"), "size '1e8' has an exponent; write 100000000 (about 95.4 MiB)");
  EXPECT_EQ(refusal("1.5E+3"), "size '1.5E+3' has an exponent; write 1500 (about 1.5 KiB)");
  EXPECT_EQ(refusal("2e2"), "size '2e2' has an exponent; write 200");
  EXPECT_EQ(refusal("1e-3").rfind("size '1e-3' has an exponent; write bytes (1048576) or", 0), 0u);
  EXPECT_NE(refusal("1e30").find("too large"), std::string::npos);
  EXPECT_NE(refusal("1e999").find("unknown unit"), std::string::npos);
  for (const char* text : {"inf", "nan", "-x", "-", "1e8MiB"})
    EXPECT_NE(refusal(text).find("unknown unit"), std::string::npos) << refusal(text);
}

TEST(FormatBytes, OneDecimalInTheLargestFittingUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(9771050598), "9.1 GiB");
  EXPECT_EQ(format_bytes(-3 * 1024 * 1024), "-3.0 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(int64_t{5000} << 40), "5000.0 TiB");
}

TEST(ByteLimit, ReadsSharesAndBytes) {
  EXPECT_EQ(parse_byte_limit("90%").resolve(1000), 900);
  EXPECT_EQ(parse_byte_limit("12.5 %").resolve(1000), 125);
  EXPECT_EQ(parse_byte_limit("100%").resolve(1001), 1001);
  EXPECT_EQ(parse_byte_limit("2KiB").resolve(1000), 2048);
  EXPECT_FALSE(parse_byte_limit("2KiB").is_share());
}

TEST(ByteLimit, RefusesSharesOutOfRange) {
  for (const char* text : {"0%", "101%", "-5%", "%", "x%", "5%%"}) {
    EXPECT_NE(refusal(text).find("share '"), std::string::npos) << text;
  }
}

TEST(ByteLimit, PrintsWhatItReadsBack) {
  for (const char* text : {"90%", "12.5%", "3GiB", "1536MiB", "1000", "0", "33%"}) {
    EXPECT_EQ(to_string(parse_byte_limit(text)), text);
  }
}

}  // namespace
}  // namespace tidemark
