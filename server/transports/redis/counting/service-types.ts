import { fieldBatch } from '../scripts/limits.js';
import { LuaFragment } from '../scripts/lua-fragment.js';
import { prelude } from '../scripts/prelude.js';

/**
 * Service types of each type, in one hash for all types: introspection reads it in one call, however many there are.
 *
 * - `serviceTypesOf(type)` returns the service types of a type
 * - `serviceTypesOfAll(types)` returns the types of a text that separates them by commas, and a list of the service
 *   types per type in the same order
 * - `addServiceTypes(serviceTypes)`
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
  for first = 1, #types, ${fieldBatch} do
    local last = math.min(first + ${fieldBatch - 1}, #types)
    local found = call('HMGET', key('service-types'), unpack(types, first, last))
    for index = 1, last - first + 1 do all[first + index - 1] = splitList(found[index] or '') end
  end
  return types, all
end

local function addServiceTypes(added)
  for _, serviceType in ipairs(added) do
    local type = typeOf(serviceType)
    local known = call('HGET', key('service-types'), type)
    if known ~= serviceType then
      local isKnown = false
      for _, each in ipairs(splitList(known or '')) do isKnown = isKnown or each == serviceType end
      if not isKnown then
        call('HSET', key('service-types'), type, known and known .. ',' .. serviceType or serviceType)
      end
    end
  end
end
`,
  [prelude],
);
