#include "tests/measure/session/run_folder.h"

#include <nlohmann/json.hpp>

namespace reductio::scripted {

nlohmann::json RunFolder::machine() const { return nlohmann::json::parse(machine_json()); }
nlohmann::json RunFolder::entry() const { return machine().at("runs").at(0); }

}  // namespace reductio::scripted
