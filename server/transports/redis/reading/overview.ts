import type { Overview, OverviewQuery } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { descriptions, type Fleet } from '../membership/fleet.js';
import { typeList } from '../names.js';
import { readSchedules, scheduleRecords } from '../schedules/schedule-records.js';
import { prelude } from '../scripts/prelude.js';
import { readArray } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { activity, readActivity, readTotal } from './activity.js';
import { counts, readCounts } from './counts.js';
import { readRuns, runs } from './runs.js';

const overviewScript = new Script({
  name: 'overview',
  access: 'reads',
  purpose:
    'Reads the descriptions of all live processes, the counts and activity of many types, the latest runs of some, and all schedules.',
  argv: 'arguments of readDescriptions, of readCounts, of readRuns',
  reply: 'the results of the three, of readTotal, of readActivity and of readSchedules',
  includes: [prelude, descriptions, counts, runs, activity, scheduleRecords],
  lua: `
local registered = readDescriptions()
local types = ARGV[position + 1]
local typeCounts, failing = readCounts()
return { registered, typeCounts, readRuns(), readTotal(), readActivity(types, failing), readSchedules() }
`,
});

/** Returns all that an overview needs, in one round trip. */
export async function readOverview(
  commands: CommandClient,
  fleet: Fleet,
  { types, runTypes, runLimit }: OverviewQuery,
): Promise<Omit<Overview, 'keepsDeadLetters'>> {
  const query = fleet.query();
  const args = [...query.args, typeList(types), runLimit, typeList(runTypes)];
  const [registered, typeCounts, latestRuns, totalReply, activityReply, schedules] = readArray(
    await commands.runScript(overviewScript, args),
  );
  const { now, ...total } = readTotal(totalReply);
  return {
    registered: query.read(registered),
    counts: readCounts(typeCounts),
    activity: readActivity(now, activityReply),
    total,
    runs: readRuns(latestRuns, runLimit),
    schedules: readSchedules(schedules),
  };
}
