-- The data of a job without the links and numbers that stand behind its body, and without the body.
--
-- - `headOf(data)` returns the part that envelopeArguments wrote; `nil` if something else has changed the data
-- - `withoutBody(data)` returns the data with `null` for a body

-- The body is a text in JSON, which Lua does not decode if it has half of a surrogate pair.
local function bodyOf(data)
  local _, start = string.find(data, constants.bodyStart, 1, true)
  local from = start and start + 1
  while from do
    local stop = string.find(data, '["\\]', from)
    if not stop then break end
    if string.sub(data, stop, stop) == '"' then return start, stop end
    from = stop + 2
  end
  return nil
end

local function headOf(data)
  local _, stop = bodyOf(data)
  return stop and string.sub(data, 1, stop)
end

local function withoutBody(data)
  local start, stop = bodyOf(data)
  return start and string.sub(data, 1, start) .. 'null' .. string.sub(data, stop) or data
end
