import type { Overview, OverviewQuery } from '../transport.js';
import type { CommandClient } from './connection/command-client.js';
import { readArray } from './connection/reply.js';
import { scripts } from './connection/script.js';
import type { Fleet } from './membership/fleet.js';
import { typeList } from './names.js';
import type { RedisSettings } from './redis-options.js';
import { readRuns } from './runs/stored-runs.js';
import { readSchedules } from './schedules/redis-schedules.js';
import { readActivity, readTotal } from './statistics/activity.js';
import { readCounts } from './statistics/counts.js';
import { RecentActivities } from './statistics/recent-activities.js';

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
    const list = typeList(types);
    const args = [...query.args, list, runLimit, typeList(runTypes), this.#activities.rolledOf(list)];
    const [registered, typeCounts, latestRuns, totalReply, activityReply, schedules] = readArray(
      await this.#commands.runScript(scripts.overview, args),
    );
    const { now, ...total } = readTotal(totalReply);
    const { live, stopped } = query.read(registered);
    return {
      registered: [...live, ...stopped],
      counts: readCounts(typeCounts),
      activity: readActivity(list, now, activityReply, this.#activities),
      total,
      retainsDeadLetters: this.#retainsDeadLetters,
      runs: readRuns(latestRuns, runLimit),
      schedules: readSchedules(schedules),
    };
  }
}
