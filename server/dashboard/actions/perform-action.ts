import { HubError } from '../../errors.js';
import type { Hub } from '../../hub/hub.js';
import type { SearchQuery } from '../../hub/introspection/tag-search.js';
import { type ActionOptions, audited, recordAction, targetOfMany } from '../../hub/operate/audit.js';
import { deadLetterPlaces } from '../../hub/operate/dead-letter-places.js';
import type { PauseTarget } from '../../hub/pauses.js';
import type { AuditBody, BulkBody, PreviewBody, Right, SearchBody } from '../protocol.js';
import { type ActionBody, InvalidActionError } from './action-body.js';
import type { ResolvedActionsOptions } from './actions-options.js';
import { readContents } from './read-contents.js';

/** Parts of the handler that actions use. */
export interface ActionParts extends Pick<ResolvedActionsOptions, 'formatPayload' | 'transport'> {
  readonly hub: Hub;
}

/** Action of a request. */
interface Action {
  /** Fields of the JSON beside `reason` and `actionId`. */
  readonly fields: readonly string[];
  /** A read is carried out again when it is repeated. */
  readonly isRead?: true;
  perform(parts: ActionParts, body: ActionBody, actor: Actor): Promise<object>;
}

type Actor = ActionOptions & { readonly by: string };

/** Maximum number of events of one request. */
const maxIds = 100;
/** Maximum number of events that a preview lists. */
const maxListed = 1_000;
const maxAtOnce = 10;

const filterNames = ['type', 'errorGroup', 'service', 'requestId', 'since', 'until'] as const;
const many = ['id', 'ids', 'filter', 'preview'] as const;
const targets = ['type', 'workflow', 'schedule', 'service'] as const;

/** Actions by the right that they need. */
export const actions: { readonly [R in Right]: Action } = {
  replay: {
    fields: [...many, 'service'],
    async perform({ hub }, body, actor) {
      const service = body.name('service');
      const replay = async (id: string, options: ActionOptions): Promise<void> => {
        const services = service === undefined ? await servicesOfDeadLetter(hub, id) : [service];
        // Without one, the error of the hub says so.
        for (const each of services.length === 0 ? [hub.service] : services) {
          await hub.replay(id, { ...options, service: each });
        }
      };
      return performMany(hub, 'replay', body, actor, replay, (filter) => listDeadLetters(hub, filter));
    },
  },
  cancel: {
    fields: many,
    async perform({ hub }, body, actor) {
      const cancel = async (id: string, options: ActionOptions): Promise<void> => {
        if (!(await hub.cancel(id, options))) throw new EndedError(id);
      };
      return performMany(hub, 'cancel', body, actor, cancel, (filter) => listPending(hub, filter));
    },
  },
  fork: {
    fields: ['id', 'fromStep', 'service', 'input'],
    async perform({ hub }, body, actor) {
      const [service, input] = [body.name('service'), body.value('input')];
      const forked = await hub.fork(body.requiredName('id'), {
        ...actor,
        fromStep: body.requiredName('fromStep'),
        ...(service !== undefined && { service }),
        ...(input !== undefined && { input }),
      });
      return { done: 1, ...forked };
    },
  },
  pause: {
    fields: targets,
    async perform({ hub }, body, actor) {
      const { reason } = actor;
      if (reason === undefined) throw new InvalidActionError('reason is missing: health and dashboard show it');
      await hub.pause(targetOf(body), { ...actor, reason });
      return { done: 1 };
    },
  },
  resume: {
    fields: targets,
    perform: async ({ hub }, body, actor) => ({ done: (await hub.resume(targetOf(body), actor)) ? 1 : 0 }),
  },
  approve: {
    fields: ['id', 'step', 'approved'],
    async perform({ hub }, body, actor) {
      const step = body.name('step');
      const approved = body.boolean('approved') ?? true;
      const decided = await hub.decide(body.requiredName('id'), {
        ...actor,
        approved,
        ...(step !== undefined && { step }),
      });
      return { done: 1, step: decided.step };
    },
  },
  retire: {
    fields: ['service', 'only', 'discard'],
    async perform({ hub, transport }, body, actor) {
      // Nobody has the right without it.
      if (transport === undefined) throw new InvalidActionError('the handler has no transport to retire a service of');
      const service = body.requiredName('service');
      const only = body.names('only', 1_000);
      const discard = body.boolean('discard') ?? false;
      const retire = () => transport.retire(service, { discard, ...(only !== undefined && { only }) });
      return { ...(await audited(hub, 'retire', { service }, actor, retire)) };
    },
  },
  erase: {
    fields: ['requestId'],
    perform: async ({ hub }, body, actor) => ({
      ...(await hub.erase({ requestId: body.requiredName('requestId') }, actor)),
    }),
  },
  payload: {
    fields: ['id'],
    isRead: true,
    async perform({ hub, formatPayload }, body, actor) {
      const id = body.requiredName('id');
      await recordAction(hub, 'payload', { id }, actor);
      return readContents(hub, id, formatPayload);
    },
  },
  search: {
    fields: ['tag', 'key', 'type', 'status', 'group', 'from', 'to', 'after', 'limit'],
    isRead: true,
    async perform({ hub }, body, actor): Promise<SearchBody> {
      const named = (['tag', 'key', 'type', 'status', 'group', 'after'] as const).map((name) => [
        name,
        body.name(name),
      ]);
      const numbers = (['from', 'to', 'limit'] as const).map((name) => [name, body.number(name)]);
      const given = [...named, ...numbers].filter(([, value]) => value !== undefined);
      // The hub checks the values.
      const query: SearchQuery = Object.fromEntries(given);
      // The audit is stored as it is, and a tag or a key may be personal.
      await recordAction(hub, 'search', query.type === undefined ? {} : { type: query.type }, actor);
      return { now: hub.transport.clock.now(), ...(await hub.search(query)) };
    },
  },
  audit: {
    fields: ['limit'],
    isRead: true,
    async perform({ hub }, body): Promise<AuditBody> {
      const limit = body.number('limit');
      return { now: hub.transport.clock.now(), entries: await hub.audit(limit === undefined ? {} : { limit }) };
    },
  },
};

/** The event or run has ended, or is unknown. */
class EndedError extends HubError {
  constructor(id: string) {
    super('ERR_UNKNOWN_EVENT_ID', `${JSON.stringify(id)} is unknown or has ended`);
  }
}

function targetOf(body: ActionBody): PauseTarget {
  const [kind, ...others] = targets.filter((each) => body.has(each));
  if (kind === undefined || others.length > 0) throw new InvalidActionError(`pass one of ${targets.join(', ')}`);
  return { [kind]: body.requiredName(kind) } as PauseTarget; // it has one of the names
}

/** Carries an action out on one event, on several, or on those of a filter. */
async function performMany(
  hub: Hub,
  action: 'replay' | 'cancel',
  body: ActionBody,
  actor: Actor,
  perform: (id: string, options: ActionOptions) => Promise<void>,
  list: (filter: ActionBody) => Promise<PreviewBody>,
): Promise<BulkBody | PreviewBody> {
  const [id, ids] = [body.name('id'), body.names('ids', maxIds)];
  const isPreview = body.boolean('preview') === true;
  const filter = body.object('filter', filterNames);
  if ([id, ids, filter].filter((each) => each !== undefined).length !== 1) {
    throw new InvalidActionError('pass one of id, ids and filter');
  }
  if (isPreview && filter === undefined) throw new InvalidActionError('preview needs a filter');
  if (id !== undefined) {
    await perform(id, actor);
    return { done: 1, failed: [] };
  }
  const listed = filter === undefined ? undefined : await list(filter);
  if (listed !== undefined && isPreview) return listed;
  const page = ids ?? listed?.ids.slice(0, maxIds) ?? [];
  const target = { ...targetOfMany(page), ...targetOfFilter(filter) };
  const { done, failed, defects } = await audited(
    hub,
    action,
    target,
    // What does nothing has no entry.
    page.length === 0 ? {} : actor,
    () => performAll(page, (each) => perform(each, {})),
    (result) => ({ done: result.done, failed: result.failed.length + result.defects.length }),
  );
  if (defects.length > 0) throw defects[0];
  if (listed === undefined) return { done, failed };
  return { done, failed, remaining: listed.ids.length - page.length, until: listed.until };
}

function targetOfFilter(filter: ActionBody | undefined): object {
  const entries = ['type', 'errorGroup', 'service', 'requestId'].map((name) => [name, filter?.name(name)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

interface Performed extends Required<Pick<BulkBody, 'done' | 'failed'>> {
  /** Errors that are no answer to the caller. */
  readonly defects: readonly unknown[];
}

/** Returns the failures. The others are carried out: one bad event does not keep them from it. */
async function performAll(ids: readonly string[], perform: (id: string) => Promise<void>): Promise<Performed> {
  const failed: { id: string; code: string; message: string }[] = [];
  const defects: unknown[] = [];
  const next = ids.values();
  const work = async (): Promise<void> => {
    for (const id of next) {
      await perform(id).catch((error: unknown) => {
        if (HubError.is(error)) failed.push({ id, code: error.code, message: error.publicMessage });
        else defects.push(error);
      });
    }
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  return { done: ids.length - failed.length - defects.length, failed, defects };
}

async function servicesOfDeadLetter(hub: Hub, id: string): Promise<readonly string[]> {
  return (await hub.find(id)).filter(({ isDeadLetter }) => isDeadLetter === true).map(({ service }) => service);
}

/** Lists dead letters that failed until now, so that one that fails again is not replayed again. */
async function listDeadLetters(hub: Hub, filter: ActionBody): Promise<PreviewBody> {
  // By the clock that recorded the failures. What fails in the same millisecond may be a replay.
  const until = filter.number('until') ?? (await hub.transport.kv.now()) - 1;
  const [service, requestId, since] = [filter.name('service'), filter.name('requestId'), filter.number('since')];
  const errorGroup = filter.name('errorGroup');
  const query = {
    limit: maxListed,
    until,
    ...(requestId !== undefined && { requestId }),
    ...(since !== undefined && { since }),
    ...(errorGroup !== undefined && { errorGroup }),
  };
  const type = filter.name('type');
  const subject = type ?? (errorGroup === undefined ? filter.requiredName('type') : await subjectOf(hub, errorGroup));
  const places = await deadLetterPlaces(hub, subject);
  const meant = service === undefined ? places : places.filter((place) => place.service === service);
  const found = await Promise.all(
    meant.map((place) => hub.deadLetters(place.name, { ...query, service: place.service })),
  );
  const ids = [...new Set(found.flat().map(({ id }) => id))];
  return {
    count: ids.length,
    isMore: found.some(({ length }) => length === maxListed),
    ids: ids.slice(0, maxListed),
    until,
  };
}

/** Returns the event type or the workflow of an error group. */
async function subjectOf(hub: Hub, errorGroup: string): Promise<string> {
  const found = (await hub.errorGroups()).find(({ id }) => id === errorGroup);
  const subject = found?.eventType ?? found?.workflow;
  if (subject === undefined) throw new InvalidActionError('errorGroup is unknown: it was not seen for 30 days');
  return subject;
}

/** Lists the pending events of a request. */
async function listPending(hub: Hub, filter: ActionBody): Promise<PreviewBody> {
  for (const name of filterNames) {
    if (name !== 'requestId' && filter.has(name))
      throw new InvalidActionError(`the filter of cancel has a requestId, not ${name}`);
  }
  const { events, isTruncated } = await hub.getRequest(filter.requiredName('requestId'));
  const ids = [...new Set(events.filter(({ endedAt }) => endedAt === undefined).map(({ id }) => id))];
  return { count: ids.length, isMore: isTruncated, ids, until: hub.transport.clock.now() };
}
