import type { Limit } from '../limits/limit.js';
import type { HandlerCtx } from './context.js';
import type { EventRef } from './emit.js';
import type { PublishJoined } from './live-output.js';
import type { TurnFacts } from './reported-agents.js';
import type { ResolvedRetry } from './retry-policy.js';

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
  /** Entry of the live output that is published with the request. @default none */
  readonly published?: unknown;
}

/** Result of a step with what is recorded beside it. */
export class StepResult<T = unknown> {
  readonly value: T;
  readonly facts: TurnFacts | undefined;
  /** The value is what parsing its JSON returns, so that it needs no check. */
  readonly isJson: boolean;
  /** The events that the step emitted are accepted. */
  readonly emits: boolean;

  /** @param facts for introspection */
  constructor(value: T, facts: TurnFacts | undefined, isJson: boolean, emits: boolean = true) {
    this.value = value;
    this.facts = facts;
    this.isJson = isJson;
    this.emits = emits;
  }
}

/** Recorded result of a step. */
export interface Recorded<T> {
  readonly value: T;
  /** An earlier delivery recorded it: `value` is what parsing the record returns. */
  readonly isReplayed: boolean;
}

/** Options of {@link DurableRun.record}. */
export interface RecordOptions {
  /** Retry policy of the step. The run holds no process until the next attempt. @default one attempt per delivery */
  readonly retry?: ResolvedRetry | undefined;
  /** Maximum duration of one attempt, in milliseconds. @default no limit */
  readonly timeoutMs?: number | undefined;
  /** Limit that each attempt takes a permit of. */
  readonly limit?: Limit | undefined;
  /** `false`: the promise rejects with the error of a failed attempt, and the next delivery repeats the step. @default true */
  readonly recordsFailure?: boolean;
  /** Facts that a failure has too. */
  readonly facts?: TurnFacts | undefined;
  /** Rejects the promise of the step at an abort, wherever the step is. */
  readonly waits?: StepWaits | undefined;
}

/** Promises that an abort rejects. */
export interface StepWaits {
  add(reject: (reason: unknown) => void): void;
  delete(reject: (reason: unknown) => void): void;
}

/** Part of an attempt that the function of every step can use. */
export interface StepScope {
  /** Emits events that are accepted together with the step's result, and publishes live output. */
  readonly emitter: Pick<HandlerCtx, 'emit' | 'startWorkflow'> & { readonly publish: PublishJoined };
}

/** Text that was sent to a run. */
export interface SentText {
  readonly id: string;
  readonly text: string;
}

/** Texts that were sent to a run, for its agents. */
export interface RunTexts {
  /**
   * Returns texts that no turn has read, in the order in which they were sent: the caller has read them. Never rejects: what
   * cannot be read now is returned later.
   */
  take(): Promise<readonly SentText[]>;
  /** Marks the texts of a recorded turn as read. */
  replay(texts: readonly SentText[]): void;
  /** Takes texts back whose turn is not recorded. */
  release(texts: readonly SentText[]): void;
}

/**
 * Run in which an agent records its turns. A recorded step returns its result without running. Promises never settle
 * after the run has left the process.
 */
export interface DurableRun {
  /** Key that identifies the run among the runs of all services. The same for all attempts, replays included. */
  readonly key: string;
  /** Key by which the events of the type, or the runs of the workflow, take turns; `undefined` without one. */
  readonly turnKey: string | undefined;
  /** Name of the workflow, or type of the event. */
  readonly name: string;
  /** Attempt of the delivery, from 1. */
  readonly attempt: number;
  /** Number of events in the causal chain before the run. */
  readonly depth: number;
  /** Everything that is recorded of the run has been replayed. */
  readonly isAtEnd: boolean;
  readonly texts: RunTexts;
  /** The run has left this process: it is suspended, has ended, or lost its lease. */
  readonly isOver: boolean;
  /** Returns `true` if the result of a step is recorded. */
  isRecorded(kind: 'model' | 'tool' | 'request' | 'memory', id: string): boolean;
  /**
   * Runs a step and records its result, or returns the recorded one. What `call` emits is accepted together with the
   * record. Rejects with a {@link StepFailedError} if a failure is recorded.
   */
  record<T>(
    kind: 'model' | 'tool' | 'memory',
    id: string,
    call: (scope: StepScope) => StepResult<T> | Promise<StepResult<T>>,
    options?: RecordOptions,
  ): Promise<Recorded<T>>;
  /**
   * Records what `call` returns like {@link record}. `call` may contain steps whose ids start with `prefix`. `onRecord`
   * can publish as the step.
   */
  contain<T>(
    id: string,
    prefix: string,
    call: () => Promise<StepResult<T>>,
    onRecord?: (scope: StepScope) => void,
  ): Promise<Recorded<T>>;
  /** Marks the steps whose ids start with `prefix`, and which earlier deliveries recorded, as unreached. */
  markUnreached(prefix: string): void;
  /** Returns `true` if {@link start} was called for the step, in any attempt. */
  isStarted(id: string): boolean;
  /** Records that a step starts which must not run again. */
  start(id: string): Promise<void>;
  /** Records a note, which is JSON, on a step that may never have a result. Never rejects. */
  note(id: string, note: object): Promise<void> | undefined;
  /** Returns the notes on a step that earlier deliveries recorded. */
  notesOn(id: string): readonly unknown[];
  /**
   * Returns `true` if a request to decide has a payload that can be emitted, or was emitted. The answer for a step that
   * is recorded is the one that led to its record.
   */
  canRequest(id: string, payload: unknown): boolean;
  /** Suspends the run until a decision comes. Resolves with the event's payload, or with `null` after the timeout. */
  decision(id: string, wait: ApprovalWait): Promise<unknown>;
  /** Skips a request to decide, and its decision: nobody can decide any more. */
  skipDecision(id: string): void;
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
  (ctx as { [durableKey]?: DurablePlace })[durableKey] = place;
}

/** Returns the place of a context, or `undefined` if what runs with it is no part of a durable run. */
export function durablePlaceOf(ctx: object | undefined): DurablePlace | undefined {
  // Only `attachPlace` sets this key.
  return (ctx as { readonly [durableKey]?: DurablePlace } | undefined)?.[durableKey];
}
