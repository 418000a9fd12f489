import { approvalsFirst, nextRunPlace, readRunPlace, toRecentEvents, toRequestRecords } from '../../event-record.js';
import { maxRequestEvents } from '../../limits.js';
import { stoppedDescription } from '../../services.js';
import type {
  ConnectedProcess,
  DeadLetterStore,
  EventLookup,
  FleetReader,
  RunStore,
  ScheduleRecord,
} from '../../transport.js';
import type { Database } from '../connection/database.js';
import { readFields, readList, readNumber, readOptional, readText } from '../connection/fields.js';
import { readActivities, readCounts, readTotal } from './counts.js';
import { readError, StoredEvent } from './stored-events.js';

/** Returns the lookups of the events of all services. */
export function postgresLookup(database: Database): EventLookup {
  const { maxDeadLetters } = database.settings;
  return {
    async recent(type) {
      return toRecentEvents(readEvents(await database.read('recent_events', [type])).map((event) => event.record()));
    },
    async runs(type, service, { limit, after }) {
      const { part, number } = readRunPlace(after);
      const below = number === undefined ? Number.MAX_SAFE_INTEGER : Number(number);
      const rows = readList(await database.read('run_page', [service, type, limit, part === 'dead', below])).map(
        readList,
      );
      const [last] = rows.length === limit ? (rows.at(-1) ?? []) : [];
      return {
        events: rows.map(([, event]) => new StoredEvent(event).record()),
        ...nextRunPlace(
          part,
          readOptional(last ?? null, (value) => String(readNumber(value))),
        ),
      };
    },
    async find(id, { bodies = false } = {}) {
      const found = await database.read('find_events', [id, null, bodies, maxRequestEvents]);
      return readEvents(found).map((event) => event.record(bodies));
    },
    async request(requestId) {
      const found = await database.read('find_events', [null, requestId, false, maxRequestEvents + 1]);
      return toRequestRecords(readEvents(found).map((event) => event.record()));
    },
    async kept(id) {
      return readList(await database.read('keepers', [id])).map((each) => {
        const { type, service, runType, runId } = readFields(each);
        return { type: readText(type), service: readText(service), runType: readText(runType), runId: readText(runId) };
      });
    },
    async deadLetterErrors(type, limit) {
      return readList(await database.read('dead_letter_errors', [type, limit])).map((letter) => {
        const { id, service, requestId, at, attempt, error } = readFields(letter);
        return {
          ...{ id: readText(id), service: readText(service), requestId: readText(requestId) },
          ...{ at: readNumber(at), attempt: readNumber(attempt), error: readError(error) },
        };
      });
    },
    async erase(requestId) {
      const { deadLetters, runs, pending } = readFields(await database.call('erase', [requestId]));
      return { deadLetters: readNumber(deadLetters), runs: readNumber(runs), pending: readNumber(pending) };
    },
    async overview({ types, runTypes, runLimit }) {
      const read = readFields(await database.read('overview', [types, runTypes, runLimit]));
      const now = readNumber(read['now']);
      return {
        registered: readFleet(read['fleet']).registered,
        counts: readCounts(read['counts']),
        activity: readActivities(now, read['histories'], read['failures']),
        total: readTotal(now, read['total']),
        retainsDeadLetters: maxDeadLetters > 0,
        runs: readList(read['runs']).map((runs) => readEvents(runs).map(({ run }) => run)),
        schedules: readSchedules(read['schedules']),
      };
    },
  };
}

/** Returns the open connections of all processes. */
export function postgresFleet(database: Database): FleetReader {
  const read = async (): Promise<Fleet> => readFleet(await database.read('fleet', []));
  return {
    registered: async () => (await read()).registered,
    processes: async () => (await read()).processes,
  };
}

/** Returns the dead letters. @param own service of the connection */
export function postgresDeadLetters(database: Database, own: string): DeadLetterStore {
  return {
    async list(type, limit, { requestId = null, since = null, until = null, service = own } = {}) {
      const found = await database.read('dead_letters', [service, type, limit, requestId, since, until]);
      return readEvents(found).map(({ deadLetter }) => deadLetter);
    },
    replay: async (id, service = own) => (await database.call('replay', [service, id])) === true,
  };
}

/** Returns the reads of runs. */
export function postgresRunReads(database: Database, own: string): Pick<RunStore, 'get' | 'getSince' | 'waiting'> {
  const getSince: RunStore['getSince'] = async (type, id, from, service = own) =>
    readOptional(await database.read('read_run', [service, type, id, from]), (value) => new StoredEvent(value).run);
  return {
    get: (type, id, service) => getSince(type, id, 0, service),
    getSince,
    async waiting(types, limit) {
      const found = await database.read('waiting_runs', [types, limit]);
      return readList(found).map((runs) => approvalsFirst(readEvents(runs).map(({ run }) => run)).slice(0, limit));
    },
  };
}

/** Returns stored schedules. */
export function readSchedules(value: unknown): readonly ScheduleRecord[] {
  return readList(value).map((each) => {
    const { service, name, definition, times, position, lastDue, isOpen, isRemoved, revision } = readFields(each);
    return {
      ...{ service: readText(service), name: readText(name), definition: readText(definition), times: readText(times) },
      ...{ position: readNumber(position), lastDue: readOptional(lastDue, readNumber) },
      ...{ isOpen: isOpen === true, isRemoved: isRemoved === true, revision: readNumber(revision) },
    };
  });
}

interface Fleet {
  readonly registered: readonly string[];
  readonly processes: readonly ConnectedProcess[];
}

function readFleet(value: unknown): Fleet {
  const { live, stopped } = readFields(value);
  const processes = readList(live)
    .map(readFields)
    .map(({ description, state }) => ({ description: readText(description), state: readText(state) }))
    .filter(({ description }) => description !== '');
  const former = readList(stopped).map((description) => stoppedDescription(readText(description)));
  return { registered: [...processes.map(({ description }) => description), ...former], processes };
}

function readEvents(value: unknown): readonly StoredEvent[] {
  return readList(value).map((each) => new StoredEvent(each));
}
