import { acceptance, counting, lanes, library } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';

/**
 * Accepts envelopes, all of them or none. Answers the earlier event's id for each that is a
 * duplicate, '' for the others. Sent again with the same token it answers the same and changes nothing.
 */
export const publishScript: Script = new Script(`${library}${counting}${lanes}${acceptance}
local sent, sentForMs = prefix .. ':sent:' .. take(), take()
local answered = call('GET', sent)
if answered then return cjson.decode(answered) end

local receipts = {}
for index = 1, takeNumber() do
  local envelope = takeEnvelope()
  local dedupeId, windowMs = take(), takeNumber()
  local dedupe = prefix .. ':dedupe:' .. envelope.type .. ':' .. dedupeId
  local earlier = dedupeId ~= '' and call('GET', dedupe)
  receipts[index] = earlier or ''
  if earlier then
    local isHandled = false
    for _, route in ipairs(routesOf(envelope.type)) do
      if not route.idSuffix then
        isHandled = true
        change(route.unit).deduplicated = change(route.unit).deduplicated + 1
      end
    end
    if not isHandled then change(envelope.sender).deduplicated = change(envelope.sender).deduplicated + 1 end
  else
    if dedupeId ~= '' then call('SET', dedupe, envelope.id, 'PX', math.ceil(windowMs)) end
    accept(envelope)
  end
end
writeChanges()
call('SET', sent, cjson.encode(receipts), 'PX', sentForMs)
return receipts
`);
