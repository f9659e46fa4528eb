// The header of a schedule's text, and its numbers. Private to core/schedule.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/parsed_script.h"
#include "core/schedule/text_line.h"

namespace rondo {

/// P, root, H and q: what the header's formulas, and all others, may name.
std::vector<std::string> known_names();

/// A formula, kept in the script. Throws what TextLine::formula() does, as all of these.
WrittenNumber read_number(TextLine& line, const std::string& expected, Formula::Names names,
                          ParsedScript& script);

/// A word that a header's line begins with.
bool is_header_word(std::string_view word);

/// The rest of a header's line that begins at `begin` with `word`. False where no such line does.
bool read_header(TextLine& line, std::size_t begin, std::string_view word, ParsedScript& script);

}  // namespace rondo
