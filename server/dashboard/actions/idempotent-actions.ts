import { createHash } from 'node:crypto';
import { HubError } from '../../errors.js';
import type { KeyValueStore } from '../../transports/key-values.js';
import type { JsonResult } from '../json-result.js';

/** Time for which the result of an action is returned again. */
const rememberMs = 86_400_000;
/** Time after which an action that did not end may be carried out again: its process was killed. */
const runningMs = 60_000;

/** Another request with the same id is under way. */
class ActionRunningError extends HubError {
  constructor() {
    super('ERR_ACTION_RUNNING', 'an action with this actionId is being carried out: repeat the request later');
  }
}

/** The id was used for another action. */
class ActionIdReusedError extends HubError {
  constructor() {
    super('ERR_ACTION_ID_REUSED', 'this actionId was used for another action: create a new one per action');
  }
}

interface StoredAction {
  /** Digest of the request. */
  readonly request: string;
  readonly result?: JsonResult;
}

/**
 * Carries an action out once per id of the client and user, in whichever process the request arrives, and returns the
 * same result to repetitions for a day. One that failed with an error of the server may be repeated at once.
 *
 * @throws {ActionRunningError | ActionIdReusedError}
 */
export async function carryOutOnce(
  kv: KeyValueStore,
  { user, actionId, request }: { readonly user: string; readonly actionId: string; readonly request: unknown },
  act: () => Promise<JsonResult>,
): Promise<JsonResult> {
  const key = `hubline:action:${digest([user, actionId])}`;
  const own = digest(request);
  const begun = JSON.stringify({ request: own } satisfies StoredAction);
  if (!(await kv.set(key, begun, { ifAbsent: true, ttlMs: runningMs }))) {
    const stored = await kv.get(key);
    // It may have expired in between.
    const { request: first, result } = stored === undefined ? { request: own } : readStored(stored);
    if (first !== own) throw new ActionIdReusedError();
    if (result === undefined) throw new ActionRunningError();
    return result;
  }
  let result: JsonResult;
  try {
    result = await act();
  } catch (error) {
    await kv.delete(key);
    throw error;
  }
  await kv.set(key, JSON.stringify({ request: own, result } satisfies StoredAction), { ttlMs: rememberMs });
  return result;
}

function readStored(text: string): StoredAction {
  return JSON.parse(text) as StoredAction; // written above
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url');
}
