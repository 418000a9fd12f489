import type { HandlerCtx } from '../../events/context.js';
import type { EventRef } from '../../references/event-ref.js';
import type { TurnFacts } from '../../events/agent-support/turn-facts.js';

/** Wait of a run for a decision. */
export interface ApprovalWait {
  /** Event that asks for the decision. */
  readonly requested: EventRef<never, unknown> | string;
  readonly payload: unknown;
  /** Event that brings the decision. */
  readonly decided: EventRef<never, unknown> | string;
  /** Key of that event. */
  readonly key: string;
  readonly timeoutMs: number | undefined;
}

/** Result of a step with what is recorded beside it. */
export class StepResult {
  readonly value: unknown;
  /** Facts for introspection. */
  readonly turn: TurnFacts;
  /** The events that the step emitted are accepted. */
  readonly emits: boolean;

  constructor(value: unknown, turn: TurnFacts, emits = true) {
    this.value = value;
    this.turn = turn;
    this.emits = emits;
  }
}

/**
 * Run in which an agent records its turns. A recorded step returns its result without running. Promises never settle
 * after the run has left the process.
 */
export interface DurableRun {
  /** Key that identifies the run among the runs of all services. The same for all attempts, replays included. */
  readonly key: string;
  /** Name of the workflow, or type of the event. */
  readonly name: string;
  /** Attempt of the delivery, from 1. */
  readonly attempt: number;
  /** Number of events in the causal chain before the run. */
  readonly depth: number;
  /** The run has left this process: it is suspended, has ended, or lost its lease. */
  readonly isOver: boolean;
  /** Returns `true` if the result of a step is recorded. */
  isRecorded(kind: 'tool' | 'memory', id: string): boolean;
  /**
   * Records what `call` returns, a {@link StepResult} or its value, and resolves with the value as JSON. What `call`
   * emits with its context is accepted together with the record.
   *
   * @param recordsFailure records a failure as well: the promise then rejects with a {@link StepFailedError}
   * @param turn facts that a failure has too
   */
  record(
    kind: 'model' | 'tool' | 'memory',
    id: string,
    call: (ctx: HandlerCtx) => unknown,
    recordsFailure: boolean,
    turn?: TurnFacts,
  ): Promise<unknown>;
  /** Records what `call` returns like {@link record}. `call` may contain steps whose ids start with `prefix`. */
  contain(id: string, prefix: string, call: () => Promise<unknown>): Promise<unknown>;
  /** Returns `true` if {@link start} was called for the step, in any attempt. */
  isStarted(id: string): boolean;
  /** Records that a step starts which must not run again. */
  start(id: string): Promise<void>;
  /** Suspends the run until a decision comes. Resolves with the event's payload, or with `null` after the time-out. */
  decision(id: string, wait: ApprovalWait): Promise<unknown>;
  /** Keeps the run in this process while `work`, which is no step, is going on. */
  hold<T>(work: () => PromiseLike<T>): Promise<T>;
  /** Calls `leave` when the run leaves this process. */
  onLeave(leave: () => void): void;
}

/** Place in a run at which agents record their turns. */
export interface DurablePlace {
  readonly run: DurableRun;
  /** Returns the start of the ids of an agent's steps. */
  pathOf(agentName: string): string;
  /**
   * Failed model calls are recorded, because the function goes on after them. Otherwise they fail the attempt, and the
   * next attempt repeats them.
   */
  readonly recordsFailures: boolean;
}

const durableKey: unique symbol = Symbol('hubline.durable-place');

/** Adds the place to a context. The property is own and enumerable, so that it survives `{ ...ctx }`. */
export function attachPlace(ctx: object, place: DurablePlace): void {
  Object.assign(ctx, { [durableKey]: place });
}

/** Returns the place of a context, or `undefined` if what runs with it is no part of a durable run. */
export function durablePlaceOf(ctx: object | undefined): DurablePlace | undefined {
  // Only `attachPlace` sets this key.
  return (ctx as { readonly [durableKey]?: DurablePlace } | undefined)?.[durableKey];
}
