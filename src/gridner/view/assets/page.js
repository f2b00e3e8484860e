// The page of the service. Each module draws its own part and hears of changes from state.js; the order below is theirs.
import { loadModels } from "./model.js";
import "./documents.js";
import "./controls.js";
import "./reading.js";
import "./table.js";
import "./inspector.js";
import "./copying.js";
import "./opening.js";
import { follow } from "./input.js";
import { $ } from "./elements.js";

await loadModels();
$("token").addEventListener("change", loadModels);
follow();
