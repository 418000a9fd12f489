import { DurationTotals } from '../../statistics/durations.js';
import type { TypeDurations } from '../../statistics/stats.js';
import { countRecords } from '../counting/count-records.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

export const durationsScript: Script = new Script({
  name: 'durations',
  access: 'reads',
  purpose: 'Reads the durations of many types.',
  argv: 'types, separated by commas',
  reply: 'of each type the minutes that are not in its history yet, and the durations of those that are',
  includes: [prelude, countRecords],
  lua: `
local types, reply = {}, {}
for type in string.gmatch(take(), '[^,]+') do types[#types + 1] = type end
local minutes = readMinutes(types, unfoldedSums())
for index, type in ipairs(types) do
  reply[index] = { minutes[index] or '', call('HGET', key('history', type), 'durations') or '' }
end
return reply
`,
});

/** Returns the reply of {@link durationsScript}. */
export function readDurations(reply: unknown): TypeDurations[] {
  return readArray(reply).map((entry) => {
    const [open, over] = readArray(entry);
    const [wait, duration] = [new DurationTotals(), new DurationTotals()];
    const add = (name: string, count: string): void => {
      const [, kind, bucket] = /^([wde])(-?\d+)$/.exec(name) ?? [];
      if (kind !== undefined) (kind === 'w' ? wait : duration).add(Number(bucket), Number(count));
    };
    for (const part of `${readString(open)} ${readString(over)}`.split(/\s/)) {
      const [name = '', count = '0'] = part.split('=');
      add(name, count);
    }
    return { waitMs: wait.read(), durationMs: duration.read() };
  });
}
