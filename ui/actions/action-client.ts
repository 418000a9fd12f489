import type {
  AuditBody,
  BulkBody,
  OperatorBody,
  PreviewBody,
  Right,
  SearchBody,
  ShownContent,
} from '../../server/dashboard/protocol.js';
import { eventSummary } from '../api/decode-event.js';
import { array, boolean, type Decoder, decodeBody, number, object, optional, string } from '../api/decoder.js';
import { RequestError } from '../api/fetch-json.js';

/** JSON of an action. */
export type ActionFields = Readonly<Record<string, unknown>>;

/** Client of an actions handler. Every call rejects with a {@link RequestError}. */
export interface ActionClient {
  /** Returns the rights of the user. */
  operator(): Promise<Pick<OperatorBody, 'can'>>;
  /** Carries an action out once, also if the request is repeated. Resolves with the number of events that it changed. */
  act(right: Right, fields: ActionFields, reason: string): Promise<ActResult>;
  /** Lists the events that a filter means. */
  preview(right: Right, filter: ActionFields): Promise<Preview>;
  /** Returns what an event or a run carries in each service. */
  contents(id: string): Promise<readonly ServiceContents[]>;
  audit(): Promise<AuditBody>;
  /** Finds events and runs of all types. The body has the tag or the key, which no URL may have. */
  search(query: SearchFields): Promise<SearchBody>;
}

type Preview = Pick<PreviewBody, 'isMore' | 'ids'>;

/** Fields of a search: one of `tag` and `key`. */
export interface SearchFields {
  readonly tag?: string;
  readonly key?: string;
  /** `after` of the page before. */
  readonly after?: string;
}

const operator = object<Pick<OperatorBody, 'can'>>({ can: array(string as Decoder<Right>) });

/** Parts of the result of an action that the page reads. */
export interface ActResult extends Pick<BulkBody, 'done'> {
  /** New run of a fork. */
  readonly id?: string;
  /** Events of a list on which the action failed. */
  readonly failed?: readonly unknown[];
}

const bulk: Decoder<ActResult> = object<ActResult>({
  done: number,
  id: optional(string),
  failed: optional(array((value) => value)),
});

const preview = object<Preview>({ isMore: boolean, ids: array(string) });

/** Contents of an event or a run in a service, as the page shows them. */
export interface ServiceContents {
  readonly service: string;
  readonly contents: readonly Omit<ShownContent, 'isWithheld'>[];
}

const contents = object<{ events: readonly ServiceContents[] }>({
  events: array(
    object<ServiceContents>({
      service: string,
      contents: array(
        object<ServiceContents['contents'][number]>({
          kind: string as Decoder<ShownContent['kind']>,
          step: optional(string),
          json: optional(string),
        }),
      ),
    }),
  ),
});

const audit = object<AuditBody>({
  now: number,
  entries: array(
    object<AuditBody['entries'][number]>({
      sequence: number,
      at: number,
      action: string as Decoder<AuditBody['entries'][number]['action']>,
      by: string,
      via: string,
      reason: optional(string),
      target: object<AuditBody['entries'][number]['target']>({
        id: optional(string),
        ids: optional(array(string)),
        count: optional(number),
        type: optional(string),
        workflow: optional(string),
        schedule: optional(string),
        service: optional(string),
        requestId: optional(string),
        errorGroup: optional(string),
        step: optional(string),
      }),
      outcome: optional(
        object<NonNullable<AuditBody['entries'][number]['outcome']>>({
          done: number,
          failed: number,
          code: optional(string),
        }),
      ),
    }),
  ),
});

const search = object<SearchBody>({
  now: number,
  events: array(eventSummary),
  after: optional(string),
  since: optional(number),
});

/** Creates a client. @param mount path of the handler, from the root of the page's origin */
export function createActionClient(mount: string): ActionClient {
  const post = (right: Right, fields: ActionFields): Promise<unknown> =>
    request(`${mount}/${right}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
  return {
    operator: async () => decodeBody(operator, await request(`${mount}/`, {})),
    act: async (right, fields, reason) => {
      const body = await post(right, { ...fields, ...reasonOf(reason), actionId: newId() });
      // Some actions count something else than events.
      return decodeBody(bulk, { done: 1, ...Object(body) });
    },
    preview: async (right, filter) => decodeBody(preview, await post(right, { filter, preview: true })),
    contents: async (id) => decodeBody(contents, await post('payload', { id })).events,
    audit: async () => decodeBody(audit, await post('audit', {})),
    search: async (query) => decodeBody(search, await post('search', { ...query })),
  };
}

/** Returns the reason as a field, unless it is empty. */
function reasonOf(reason: string): { reason?: string } {
  const text = reason.replaceAll(/\s+/g, ' ').trim();
  return text === '' ? {} : { reason: text };
}

async function request(url: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { ...init, cache: 'no-store', credentials: 'same-origin' });
    text = await response.text();
  } catch (cause) {
    throw new RequestError('The server does not respond. Check the state before you repeat it.', { cause });
  }
  const body = parse(text);
  if (response.ok) return body;
  const message: unknown = Object(Object(body).error).message;
  throw new RequestError(typeof message === 'string' ? message : `The server responded with ${response.status}.`);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a random id. `crypto.randomUUID` is absent on plain HTTP, which private networks often use. */
function newId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
