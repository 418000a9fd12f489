import type { Overview, OverviewQuery } from '../transport.js';
import type { CommandClient } from './connection/command-client.js';
import { prelude } from './connection/keys.js';
import { readArray } from './connection/reply.js';
import { Script } from './connection/script.js';
import { readSchedules, scheduleRecords } from './events/redis-schedules.js';
import { descriptions, type Fleet } from './membership/fleet.js';
import { typeList } from './names.js';
import type { RedisSettings } from './redis-options.js';
import { readRuns, runs } from './runs/stored-runs.js';
import { activity, readActivity, readTotal } from './statistics/activity.js';
import { countRecords } from './statistics/count-records.js';
import { counts, readCounts } from './statistics/counts.js';
import { RecentActivities } from './statistics/recent-activities.js';

const overviewScript = new Script({
  name: 'overview',
  access: 'reads',
  purpose:
    'Reads the descriptions of all live processes and of the last ones of services without, the counts and activity of many types, the latest runs of some, and all schedules.',
  argv: 'arguments of readDescriptions, of readCounts, of readRuns',
  reply: 'the results of the three, of readTotal, of readActivity and of readSchedules',
  includes: [prelude, descriptions, countRecords, counts, runs, activity, scheduleRecords],
  lua: `
local registered = readDescriptions()
local sums = unfoldedSums()
local typeCounts, failing, types = readCounts(sums)
return { registered, typeCounts, readRuns(), readTotal(sums), readActivity(types, failing, sums), readSchedules() }
`,
});

/** Reads of overviews by one connection. */
export class OverviewReads {
  readonly #commands: CommandClient;
  readonly #fleet: Fleet;
  readonly #retainsDeadLetters: boolean;
  readonly #activities = new RecentActivities();

  constructor(commands: CommandClient, fleet: Fleet, { maxDeadLetters }: Pick<RedisSettings, 'maxDeadLetters'>) {
    this.#commands = commands;
    this.#fleet = fleet;
    this.#retainsDeadLetters = maxDeadLetters > 0;
  }

  /** Returns all that an overview needs, in one round trip. */
  async read({ types, runTypes, runLimit }: OverviewQuery): Promise<Overview> {
    const query = this.#fleet.query();
    const args = [...query.args, typeList(types), runLimit, typeList(runTypes)];
    const [registered, typeCounts, latestRuns, totalReply, activityReply, schedules] = readArray(
      await this.#commands.runScript(overviewScript, args),
    );
    const { now, ...total } = readTotal(totalReply);
    const { live, stopped } = query.read(registered);
    return {
      registered: [...live, ...stopped],
      counts: readCounts(typeCounts),
      activity: readActivity(now, activityReply, this.#activities),
      total,
      retainsDeadLetters: this.#retainsDeadLetters,
      runs: readRuns(latestRuns, runLimit),
      schedules: readSchedules(schedules),
    };
  }
}
