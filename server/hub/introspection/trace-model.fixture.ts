import fc from 'fast-check';

/** Call of a tool in a turn. `approval`: it waits for a decision, `null` for one that does not come in time. */
export type Call = { readonly isBroken: boolean } | { readonly approval: boolean | null; readonly afterMs: number };

/** Statement of a random run. `fails`: attempts that fail before one succeeds. */
export type Statement =
  | { readonly do: 'run'; readonly fails: number; readonly delayMs: number }
  | { readonly do: 'sleep'; readonly ms: number }
  | { readonly do: 'wait'; readonly timeoutMs: number; readonly signalAfterMs: number | null }
  | { readonly do: 'invoke'; readonly program: readonly Statement[] }
  | { readonly do: 'emit'; readonly fails: number }
  | { readonly do: 'ask'; readonly turns: readonly (readonly Call[])[] }
  /** Step in which the process ends. */
  | { readonly do: 'crash'; readonly afterMs: number }
  /** Fails the run until the world is repaired. */
  | { readonly do: 'fail'; readonly inStep: boolean };

/** Program of a run that may be cancelled. */
export interface Program {
  readonly statements: readonly Statement[];
  /** Milliseconds after the start. */
  readonly cancelAtMs: number | null;
}

export const maxAttempts = 3;
export const retryMs = 40;
export const approvalTimeoutMs = 60;

/** Change from outside the run, at a time in milliseconds since the start. `label`: path of its statement. */
export interface Action {
  readonly at: number;
  readonly do: 'signal' | 'approve' | 'refuse' | 'crash' | 'cancel' | 'replay';
  readonly label: string;
}

/** Content of a row, with times in milliseconds since the start. */
export type Shown = readonly [
  depth: number,
  kind: string,
  name: string,
  state: string,
  waited: number | null,
  ends: number,
];

/** Expected trace of a program. */
export interface Simulated {
  readonly rows: readonly Shown[];
  readonly actions: readonly Action[];
}

/** Events that a run accepts in the same millisecond have no order. */
export function isCause({ do: kind }: Statement): boolean {
  return kind === 'invoke' || kind === 'emit' || kind === 'ask';
}

/** Returns the rows of a program, and the changes from outside that it needs. */
export function simulate({ statements, cancelAtMs }: Program): Simulated {
  const first = new Simulation(cancelAtMs ?? Number.POSITIVE_INFINITY, undefined);
  const { rows } = first.run(statements, 'program', 0, 0, '');
  const cancel: Action[] = cancelAtMs === null ? [] : [{ at: cancelAtMs, do: 'cancel', label: '' }];
  if (rows[0]?.[3] !== 'failed') return { rows, actions: inOrder([...first.actions, ...cancel]) };
  const changes = [...first.actions, ...cancel].map(({ at }) => at);
  const last = Math.max(...rows.map(([, , , , , ends]) => ends), ...changes);
  const replayAt = last + 2 + (last % 2);
  const second = new Simulation(Number.POSITIVE_INFINITY, replayAt);
  const replayed = second.run(statements, 'program', 0, 0, '');
  const replay: Action = { at: replayAt, do: 'replay', label: '' };
  return { rows: replayed.rows, actions: inOrder([...second.actions, ...cancel, replay]) };
}

function inOrder(actions: readonly Action[]): readonly Action[] {
  return [...actions].sort((a, b) => a.at - b.at);
}

/** Result of a simulated run. */
interface Run {
  readonly rows: readonly Shown[];
  readonly endsAt: number;
  readonly state: string;
}

class Simulation {
  readonly actions: Action[] = [];
  readonly #cancelAt: number;
  readonly #replayAt: number | undefined;

  /** @param replayAt time at which the world is repaired and the failed run replayed; absent if it is not */
  constructor(cancelAt: number, replayAt: number | undefined) {
    this.#cancelAt = cancelAt;
    this.#replayAt = replayAt;
  }

  /** Returns the rows of a run: its steps, each with the run that it invoked, then what else it led to in the order of acceptance. */
  run(program: readonly Statement[], name: string, startsAt: number, depth: number, path: string): Run {
    const steps: Shown[] = [];
    const interrupted: Shown[] = [];
    const caused: Shown[] = [];
    const used = new Map<string, number>();
    let at = startsAt;
    let acceptedAt = startsAt;
    let state = 'completed';
    let firstStart: number | undefined;
    const add = (kind: string, step: string, ended: string, waited: number | null): void => {
      const uses = (used.get(step) ?? 0) + 1;
      used.set(step, uses);
      steps.push([depth + 1, kind, uses === 1 ? step : `${step}#${uses}`, ended, waited, at]);
      firstStart ??= at - (waited ?? 0);
    };
    // A wait that is open at the cancellation ends with it.
    const wait = (kind: string, step: string, from: number): void => {
      const isCancelled = at >= this.#cancelAt;
      if (isCancelled) [at, state] = [this.#cancelAt, 'cancelled'];
      add(kind, step, isCancelled ? 'cancelled' : 'completed', at - from);
    };
    for (const [index, statement] of program.entries()) {
      const label = `${path}/${index}`;
      const from = at;
      if (statement.do === 'run') {
        const { fails, delayMs } = statement;
        const last = Math.min(fails, maxAttempts - 1);
        let retry = 0;
        while (retry < last && at + delayMs * 2 ** retry < this.#cancelAt) at += delayMs * 2 ** retry++;
        const isFailed = retry < last || fails >= maxAttempts;
        add('run', 'run', isFailed ? 'failed' : 'completed', at === from ? null : at - from);
        if (retry < last) state = 'cancelled';
      } else if (statement.do === 'sleep') {
        at += statement.ms;
        wait('sleep', 'sleep', from);
      } else if (statement.do === 'wait') {
        const { timeoutMs, signalAfterMs } = statement;
        at += signalAfterMs ?? timeoutMs;
        if (signalAfterMs !== null) this.actions.push({ at, do: 'signal', label });
        wait('event', 'wait', from);
      } else if (statement.do === 'invoke') {
        const child = this.run(statement.program, 'child', at, depth + 2, label);
        at = child.endsAt;
        if (child.state === 'cancelled') wait('invoke', 'invoke', from);
        else add('invoke', 'invoke', child.state, at - from);
        steps.push(...child.rows);
      } else if (statement.do === 'emit') {
        add('emit', 'emit', 'completed', null);
        caused.push(...simulateEvent(statement.fails, at, depth + 1));
      } else if (statement.do === 'ask') {
        add('emit', 'ask', 'completed', null);
        caused.push(...this.#ask(statement.turns, at, depth + 1, label));
      } else if (statement.do === 'crash') {
        at += statement.afterMs;
        if (at < this.#cancelAt) {
          this.actions.push({ at, do: 'crash', label });
          // The run has no row for the step that it executed: that one runs again.
          interrupted.push([depth + 1, 'attempt', 'Attempt 1', 'interrupted', null, at]);
          add('run', 'crash', 'completed', null);
        }
      } else if (this.#replayAt === undefined || (depth > 0 && at < this.#replayAt)) {
        if (statement.inStep) add('run', 'broken', 'failed', null);
        state = 'failed';
      } else {
        if (at < this.#replayAt) {
          // The replay accepts the run again. Its record remains.
          [at, acceptedAt, firstStart] = [this.#replayAt, this.#replayAt, undefined];
          interrupted.length = 0;
        }
        if (statement.inStep) add('run', 'broken', 'completed', null);
      }
      if (state === 'completed' && isCause(statement)) {
        at += 2;
        wait('sleep', 'gap', at - 2);
      }
      if (state === 'completed' && at > this.#cancelAt) state = 'cancelled';
      if (state !== 'completed') break;
    }
    const endsAt = state === 'cancelled' ? this.#cancelAt : at;
    // Without an attempt at a step there is no time at which the run stopped waiting. Steps take no time.
    const waited = firstStart === undefined ? null : endsAt - acceptedAt;
    return {
      rows: [[depth, 'workflow', name, state, waited, endsAt], ...interrupted, ...steps, ...caused],
      endsAt,
      state,
    };
  }

  /** Returns the rows of an agent: turns, the calls of tools in them, then the requests for approvals. */
  #ask(turns: readonly (readonly Call[])[], from: number, depth: number, label: string): readonly Shown[] {
    const rows: Shown[] = [];
    const requests: Shown[] = [];
    let at = from;
    for (const [index, calls] of [...turns, []].entries()) {
      rows.push([depth + 1, 'model', `turn ${index + 1}`, 'completed', null, at]);
      const named = nameCalls(calls);
      // Calls without approval do not wait for the others.
      for (const { call, name } of named) {
        if ('isBroken' in call) rows.push([depth + 2, 'tool', name, call.isBroken ? 'failed' : 'completed', null, at]);
      }
      for (const { call, name, ordinal } of named) {
        if ('isBroken' in call) continue;
        requests.push([depth + 1, 'event', 'approval.requested', 'completed', 0, at]);
        const waited = call.approval === null ? approvalTimeoutMs : call.afterMs;
        at += waited;
        const action = { at, label: `${label} ${index} ${ordinal}` };
        if (call.approval !== null) this.actions.push({ ...action, do: call.approval ? 'approve' : 'refuse' });
        rows.push([depth + 2, 'approval', name, 'completed', waited, at]);
        rows.push([depth + 2, 'tool', name, call.approval === true ? 'completed' : 'failed', null, at]);
      }
    }
    return [[depth, 'event', 'asked', 'completed', at - from, at], ...rows, ...requests];
  }
}

/** Returns the calls of a turn with the names of their steps. */
function nameCalls(calls: readonly Call[]): readonly { call: Call; name: string; ordinal: number }[] {
  const used = new Map<string, number>();
  return calls.map((call, ordinal) => {
    const tool = toolOf(call);
    const uses = (used.get(tool) ?? 0) + 1;
    used.set(tool, uses);
    return { call, name: uses === 1 ? tool : `${tool} #${uses}`, ordinal };
  });
}

export function toolOf(call: Call): 'look_up' | 'refund' {
  return 'isBroken' in call ? 'look_up' : 'refund';
}

/** Returns the rows of an event that is retried: its attempts are rows if there are several. */
function simulateEvent(fails: number, at: number, depth: number): readonly Shown[] {
  const state = fails >= maxAttempts ? 'failed' : 'completed';
  const attempts: Shown[] = [];
  let endsAt = at;
  for (let attempt = 1; attempt <= Math.min(fails + 1, maxAttempts); attempt += 1) {
    if (attempt > 1) endsAt += retryMs * 2 ** (attempt - 2);
    const one = attempt <= fails ? 'failed' : 'completed';
    attempts.push([depth + 1, 'attempt', `Attempt ${attempt}`, one, null, endsAt]);
  }
  return [[depth, 'event', 'emitted', state, endsAt - at, endsAt], ...(attempts.length > 1 ? attempts : [])];
}

// Runs change at even times, so that a cancellation at an odd one never meets another change.
const ms = fc.integer({ min: 1, max: 25 }).map((half) => 2 * half);
const call: fc.Arbitrary<Call> = fc.record({ isBroken: fc.boolean() });
const approval: fc.Arbitrary<Call> = fc.record({
  approval: fc.option(fc.boolean(), { nil: null }),
  afterMs: fc.integer({ min: 1, max: approvalTimeoutMs / 2 - 1 }).map((half) => 2 * half),
});
// Calls of one turn that wait at once end in the order of their decisions; one per turn keeps the model small.
const turn = fc.tuple(fc.array(call, { maxLength: 2 }), fc.array(approval, { maxLength: 1 }));
const turns = fc.array(
  turn.map((calls) => calls.flat()).filter((calls) => calls.length > 0),
  { maxLength: 3 },
);

const { statements } = fc.letrec<{ statement: Statement; statements: readonly Statement[] }>((tie) => ({
  statement: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(
      fc.record({ do: fc.constant('run' as const), fails: fc.nat(maxAttempts), delayMs: ms }),
      fc.record({ do: fc.constant('sleep' as const), ms }),
      fc.tuple(ms, fc.option(ms, { nil: null })).map(([timeoutMs, after]) => ({
        do: 'wait' as const,
        timeoutMs,
        signalAfterMs: after !== null && after < timeoutMs ? after : null,
      })),
      fc.record({ do: fc.constant('emit' as const), fails: fc.nat(maxAttempts) }),
      fc.record({ do: fc.constant('ask' as const), turns }),
      fc.record({ do: fc.constant('crash' as const), afterMs: ms }),
      fc.record({ do: fc.constant('fail' as const), inStep: fc.boolean() }),
    ),
    fc.record({ do: fc.constant('invoke' as const), program: tie('statements') }),
  ),
  statements: fc.array(tie('statement'), { maxLength: 5 }),
}));

/** Random programs. */
export const program: fc.Arbitrary<Program> = fc.record({
  statements,
  cancelAtMs: fc.option(
    fc.nat(100).map((half) => 2 * half + 1),
    { nil: null, freq: 2 },
  ),
});
