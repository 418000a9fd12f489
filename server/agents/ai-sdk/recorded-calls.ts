import { AsyncResource } from 'node:async_hooks';
import { InvalidOptionError } from '../../errors.js';
import { WorkflowVersionError } from '../../hub/errors.js';
import type { HandlerCtx, HandlerFunction } from '../../hub/events/context.js';
import {
  attachPlace,
  type DurablePlace,
  type DurableRun,
  durablePlaceOf,
  type RecordOptions,
  type StepResult,
  type StepScope,
} from '../../hub/events/durable-place.js';
import { withHandlerInfo } from '../../hub/events/reported-agents.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { nodeCrypto } from '../../transports/derived-ids.js';
import { AbortableWaits } from '../abortable.js';

/**
 * Makes a handler durable: `durableModel`, `durableTools` and `agent.run` with its context record their calls as steps of
 * a run, so that a retry or another process repeats none that is recorded. The handler is called again from its first
 * line; between recorded calls it must be deterministic, as the function of a workflow must. For events, for the listed
 * steps of a workflow, and for `step.run`.
 *
 * @example
 * hub.event({
 *   type: 'question.asked',
 *   retry: { maxAttempts: 5 },
 *   handler: durableHandler(async (ctx) => {
 *     const { text } = await generateText({ model: durableModel(openai('gpt-5'), ctx), prompt: String(ctx.payload) });
 *     return text;
 *   }),
 * });
 */
export function durableHandler<TPayload, TResult>(
  handler: HandlerFunction<TPayload, TResult>,
): HandlerFunction<TPayload, TResult> {
  if (typeof handler !== 'function') throw new InvalidOptionError('handler of durableHandler', 'a function', handler);
  const durable: HandlerFunction<TPayload, TResult> = (ctx) => {
    const place = durablePlaceOf(ctx);
    // The context belongs to this call alone.
    if (place !== undefined) attachPlace(ctx, withNames(place));
    return handler(ctx);
  };
  const { name } = handler;
  return withHandlerInfo(durable, { kind: 'handler', name, isDurable: true, agents: () => [] });
}

/** Returns a place in which each agent has a path of its own: the handler may run several. */
function withNames({ run, pathOf, recordsFailures }: DurablePlace): DurablePlace {
  const uses = new Map<string, number>();
  return {
    run,
    recordsFailures,
    pathOf: (name) => {
      const use = (uses.get(name) ?? 0) + 1;
      uses.set(name, use);
      const own = name.replaceAll('/', '%2F');
      return `${pathOf(name)}${use === 1 ? own : `${own}#${use}`} / `;
    },
  };
}

/** Turns whose answers asked for the calls of tools, by the id of the call. */
const turnsOf = new WeakMap<DurableRun, Map<string, string>>();

/** Facts that a step records beside its request. */
export interface RecordedCall {
  /** Hash of what was asked. */
  readonly asked: string;
}

/** Calls of another framework, recorded as steps of the run of a context. */
export class RecordedCalls {
  readonly run: DurableRun;
  readonly recordsFailures: boolean;
  /** Signal of the run. */
  readonly signal: AbortSignal;
  readonly waits: AbortableWaits;
  readonly runId: string;
  readonly #createPath: () => string;
  #path: string | undefined;

  /**
   * @param name name in the ids of the steps
   * @param owner function that the context was passed to
   * @throws {InvalidOptionError} if what runs with the context is not recorded
   */
  constructor(ctx: HandlerCtx | RunCtx, name: string, owner: string) {
    const place = typeof ctx === 'object' && ctx !== null ? durablePlaceOf(ctx) : undefined;
    if (place === undefined) {
      const expected = "the context of a workflow's function, or that of a handler in durableHandler";
      throw new InvalidOptionError(`ctx of ${owner}`, expected, ctx);
    }
    this.run = place.run;
    this.recordsFailures = place.recordsFailures;
    this.signal = ctx.signal;
    this.waits = new AbortableWaits(ctx.signal);
    this.runId = 'eventId' in ctx ? ctx.eventId : ctx.runId;
    this.#createPath = () => place.pathOf(name);
    this.run.onLeave(() => this.waits.close());
  }

  /** Start of the ids of the steps. */
  get path(): string {
    this.#path ??= this.#createPath();
    return this.#path;
  }

  /** Remembers the turn whose answer asks for the calls of tools. */
  addToolCalls(turn: string, callIds: readonly string[]): void {
    const turns = turnsOf.get(this.run) ?? new Map<string, string>();
    turnsOf.set(this.run, turns);
    for (const id of callIds) turns.set(id, turn);
  }

  /** Returns the start of the id of a call's step: that of its turn, if a durable model asked for the call. */
  pathOfCall(callId: string): string {
    const turn = turnsOf.get(this.run)?.get(callId);
    return turn === undefined ? this.path : `${turn} / `;
  }

  /**
   * Records a call, or returns its record.
   *
   * @param asked what is asked: an answer to something else is not returned
   * @throws {WorkflowVersionError} if the record answers something else
   */
  async record<T extends RecordedCall>(
    kind: 'model' | 'tool',
    id: string,
    asked: string,
    call: (scope: StepScope) => Promise<StepResult<T>>,
    options: RecordOptions,
  ): Promise<{ readonly value: T; readonly isReplayed: boolean }> {
    const resource = new AsyncResource('hubline.turn');
    const inCaller = (scope: StepScope): Promise<StepResult<T>> => resource.runInAsyncScope(call, undefined, scope);
    const recorded = await this.run.record<T>(kind, id, inCaller, { ...options, waits: this.waits });
    if (recorded.value.asked !== asked) {
      const what = kind === 'model' ? 'the answer' : 'the result';
      throw new WorkflowVersionError(
        this.run.name,
        `${what} ${JSON.stringify(id)}`,
        `one to other ${kind === 'model' ? 'messages' : 'arguments'}, which must follow from what the run recorded`,
      );
    }
    // Frameworks go on in streams and ticks, in which the run must not look as if it waited.
    void this.run.hold(() => new Promise((resolve) => setImmediate(resolve)));
    return recorded;
  }
}

/** Returns a hash of what is asked. Settings of vendors are not part of it. */
export function hashOf(asked: unknown): string {
  const json = JSON.stringify(asked, (name: string, value: unknown) => {
    if (name === 'providerOptions') return undefined;
    return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
  });
  return nodeCrypto()
    .createHash('sha256')
    .update(json ?? '')
    .digest('base64url');
}
