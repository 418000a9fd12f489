import { counters } from '../counting/counters.js';
import { dataLoss } from '../membership/data-epoch.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { acceptance } from './acceptance.js';

export const publishScript: Script = new Script({
  name: 'publish',
  access: 'stores',
  purpose:
    'Accepts envelopes, all of them or none. Repeated with the same token it returns the same and changes nothing.',
  argv: 'token, milliseconds to remember it, epoch that the caller knows or empty, number of events, event...',
  reply: 'for each event the result of acceptEmit; or a result of dataLoss, and nothing is accepted',
  includes: [prelude, counters, acceptance, dataLoss],
  lua: `
local executed, rememberMs = key('executed', take()), take()
local earlierReply = call('GET', executed)
if earlierReply then return cjson.decode(earlierReply) end
local loss = dataLoss(take())
if loss then return loss end

local receipts = {}
for index = 1, takeNumber() do receipts[index] = acceptEmit(takeEmit()) end
arrangeTypes()
writeChanges()
call('SET', executed, cjson.encode(receipts), 'PX', rememberMs)
return receipts
`,
});
