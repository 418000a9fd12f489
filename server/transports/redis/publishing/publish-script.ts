import { dataLoss } from '../membership/data-epoch.js';
import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { acceptance } from './acceptance.js';
import { dedupe } from './dedupe.js';

export const publishScript: Script = new Script({
  purpose:
    'Accepts envelopes, all of them or none. Repeated with the same token it returns the same and changes nothing.',
  argv: 'token, milliseconds to remember it, epoch that the caller knows or empty, number of envelopes, (envelope, dedupe id or empty, window in ms)...',
  reply:
    'for each envelope the id of the earlier event if it is a duplicate, a dash if no service subscribes to its type, else an empty string; or a result of dataLoss, and nothing is accepted',
  includes: [prelude, counters, acceptance, dataLoss, dedupe],
  lua: `
local executed, rememberMs = key('executed', take()), take()
local earlierReply = call('GET', executed)
if earlierReply then return cjson.decode(earlierReply) end
local loss = dataLoss(take())
if loss then return loss end

local receipts = {}
for index = 1, takeNumber() do
  local envelope = takeEnvelope()
  local dedupeId, windowMs = take(), takeNumber()
  local dedupe = key('dedupe', envelope.type, dedupeId)
  local earlier = dedupeId ~= '' and call('HGET', dedupe, 'id')
  receipts[index] = earlier or ''
  if earlier then
    local isHandled = false
    for _, route in ipairs(routesOf(envelope.type)) do
      if not route.idSuffix then
        isHandled = true
        local changed = changesOf(route.serviceType)
        changed.deduplicated = changed.deduplicated + 1
      end
    end
    if not isHandled then
      local changed = changesOf(envelope.sender)
      changed.deduplicated = changed.deduplicated + 1
    end
  else
    if dedupeId ~= '' then
      envelope.dedupe = dedupe
      call('HSET', dedupe, 'id', envelope.id, 'until', now + math.ceil(windowMs), 'pending', 0)
    end
    if not accept(envelope) then receipts[index] = '-' end
    if dedupeId ~= '' and call('HGET', dedupe, 'pending') == '0' then forgetDedupe(dedupe) end
  end
end
arrangeTypes()
writeChanges()
call('SET', executed, cjson.encode(receipts), 'PX', rememberMs)
return receipts
`,
});
