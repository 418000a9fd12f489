import type { Overview, OverviewQuery } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { descriptions, type Fleet } from '../membership/fleet.js';
import { typeList } from '../names.js';
import { prelude } from '../scripts/prelude.js';
import { readArray } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { counts, readCounts } from './counts.js';
import { readRuns, runs } from './runs.js';

const overviewScript = new Script({
  purpose: 'Reads the descriptions of all live processes, the counts of many types and the latest runs of some.',
  argv: 'arguments of readDescriptions, of readCounts, of readRuns',
  reply: 'the results of the three',
  includes: [prelude, descriptions, counts, runs],
  lua: `
return { readDescriptions(), readCounts(), readRuns() }
`,
});

/** Returns all that an overview needs, in one round trip. */
export async function readOverview(
  commands: CommandClient,
  fleet: Fleet,
  { types, runTypes, runLimit }: OverviewQuery,
): Promise<Overview> {
  const query = fleet.query();
  const args = [...query.args, typeList(types), runLimit, typeList(runTypes)];
  const [registered, typeCounts, latestRuns] = readArray(await commands.runScript(overviewScript, args));
  return {
    registered: query.read(registered),
    counts: readCounts(typeCounts),
    runs: readRuns(latestRuns, runLimit),
    schedules: [],
  };
}
