import type { RecentActivity } from '../../statistics/stats.js';
import type { Overview, OverviewQuery, TypeCounts } from '../../transport.js';
import type { CommandClient } from '../connection/command-client.js';
import { descriptions, type Fleet } from '../membership/fleet.js';
import { typeList } from '../names.js';
import { readSchedules, scheduleRecords } from '../schedules/schedule-records.js';
import { prelude } from '../scripts/prelude.js';
import { readArray } from '../scripts/reply.js';
import { Script } from '../scripts/script.js';
import { activity, readActivity, readTotal } from './activity.js';
import { counts, readCounts } from './counts.js';
import { LastRead } from './last-read.js';
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

/** Reads of overviews by one connection. */
export class OverviewReads {
  readonly #commands: CommandClient;
  readonly #fleet: Fleet;
  readonly #counts = new LastRead<TypeCounts>();
  readonly #activity = new LastRead<RecentActivity>();

  constructor(commands: CommandClient, fleet: Fleet) {
    this.#commands = commands;
    this.#fleet = fleet;
  }

  /** Returns all that an overview needs, in one round trip. */
  async read({ types, runTypes, runLimit }: OverviewQuery): Promise<Omit<Overview, 'keepsDeadLetters'>> {
    const query = this.#fleet.query();
    const args = [...query.args, typeList(types), runLimit, typeList(runTypes)];
    const [registered, typeCounts, latestRuns, totalReply, activityReply, schedules] = readArray(
      await this.#commands.runScript(overviewScript, args),
    );
    const { now, ...total } = readTotal(totalReply);
    return {
      registered: query.read(registered),
      counts: readCounts(types, typeCounts, this.#counts),
      activity: readActivity(now, activityReply, this.#activity),
      total,
      runs: readRuns(latestRuns, runLimit),
      schedules: readSchedules(schedules),
    };
  }
}
