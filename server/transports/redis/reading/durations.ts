import { DurationTotals } from '../../statistics/duration-totals.js';
import type { TypeDurations } from '../../statistics/stats.js';
import { prelude } from '../scripts/prelude.js';
import { readArray, readHash, readString } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';

export const durationsScript: Script = new Script({
  name: 'durations',
  access: 'reads',
  purpose: 'Reads the durations of many types.',
  argv: 'types, separated by commas',
  reply: 'of each type the open minute, and the durations of the minutes that are over',
  includes: [prelude],
  lua: `
local reply = {}
for type in string.gmatch(take(), '[^,]+') do
  reply[#reply + 1] = { call('HGETALL', key('minute', type)), call('HGET', key('history', type), 'durations') or '' }
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
      const [, kind, bucket] = /^\d*([wde])(-?\d+)$/.exec(name) ?? [];
      if (kind !== undefined) (kind === 'w' ? wait : duration).add(Number(bucket), Number(count));
    };
    for (const [name, count] of readHash(open)) add(name, count);
    for (const part of readString(over).split(' ')) {
      const [name = '', count = '0'] = part.split('=');
      add(name, count);
    }
    return { waitMs: wait.read(), durationMs: duration.read() };
  });
}
