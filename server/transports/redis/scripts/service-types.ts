import { LuaFragment } from './lua-fragment.js';
import { prelude } from './prelude.js';

// Lua passes a limited number of results to a call.
const maxFields = 1_000;

/**
 * Service types of each type, in one hash for all types: introspection reads it in one call, however many there are.
 *
 * - `serviceTypesOf(type)` returns the service types of a type
 * - `serviceTypesOfAll(types)` returns the types of a text that separates them by commas, and a list of the service
 *   types per type in the same order
 * - `addServiceType(serviceType)`
 */
export const serviceTypes: LuaFragment = new LuaFragment(
  `
local function splitList(text)
  if text and text ~= '' and not string.find(text, ',', 1, true) then return { text } end
  local parts = {}
  for part in string.gmatch(text or '', '[^,]+') do parts[#parts + 1] = part end
  return parts
end

local function serviceTypesOf(type)
  return splitList(call('HGET', key('service-types'), type) or '')
end

local function serviceTypesOfAll(text)
  local types, all = splitList(text), {}
  for first = 1, #types, ${maxFields} do
    local last = math.min(first + ${maxFields - 1}, #types)
    local found = call('HMGET', key('service-types'), unpack(types, first, last))
    for index = 1, last - first + 1 do all[first + index - 1] = splitList(found[index] or '') end
  end
  return types, all
end

local function addServiceType(serviceType)
  local type = typeOf(serviceType)
  local known = serviceTypesOf(type)
  for _, each in ipairs(known) do if each == serviceType then return end end
  known[#known + 1] = serviceType
  call('HSET', key('service-types'), type, table.concat(known, ','))
end
`,
  [prelude],
);
