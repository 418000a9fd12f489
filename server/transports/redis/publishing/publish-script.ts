import { dataLoss } from '../membership/data-epoch.js';
import { counters } from '../scripts/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { publishOne } from './publish-one.js';

export const publishScript: Script = new Script({
  purpose:
    'Accepts envelopes, all of them or none. Repeated with the same token it returns the same and changes nothing.',
  argv: 'token, milliseconds to remember it, epoch that the caller knows or empty, number of envelopes, envelope as publishOne takes it...',
  reply: 'for each envelope the result of publishOne; or a result of dataLoss, and nothing is accepted',
  includes: [prelude, counters, publishOne, dataLoss],
  lua: `
local executed, rememberMs = key('executed', take()), take()
local earlierReply = call('GET', executed)
if earlierReply then return cjson.decode(earlierReply) end
local loss = dataLoss(take())
if loss then return loss end

local receipts = {}
for index = 1, takeNumber() do
  receipts[index] = publishOne()
end
arrangeTypes()
writeChanges()
call('SET', executed, cjson.encode(receipts), 'PX', rememberMs)
return receipts
`,
});
