import { DurationSketch } from '../../transports/statistics/durations.js';
import type { Durations } from '../../transports/statistics/stats.js';
import type { SpendLimitDescription } from '../limits/spend-limit.js';
import type { HandlerFunction } from './context.js';
import type { EventRef } from './emit.js';

/** Finds the registered event of a type. Throws if there is none. */
export interface EventRegistry {
  event(target: EventRef<never, unknown> | string): {
    readonly type: string;
    readonly key?: (payload: unknown) => unknown;
  };
}

/** Introspection data of a handler that runs an agent or a debate, or records its calls. */
export interface HandlerInfo {
  readonly kind: 'agent' | 'debate' | 'handler';
  /** Name of the agent, the debate or the function. */
  readonly name: string;
  /** The handler records its turns as steps of a run. */
  readonly isDurable?: boolean;
  /** Checks the handler when its hub starts. Throws if the handler cannot work. */
  readonly check?: (events: EventRegistry) => void;
  /**
   * Returns the agents of the handler in their current state: the main agent first, then its delegates. Empty until
   * they are known.
   */
  agents(): readonly AgentDescription[];
  /** Steps of a list with the same stage run at the same time. @default a stage of its own */
  readonly stage?: number;
  /** The handler may skip its step of a list. @default false */
  readonly isConditional?: boolean;
}

const infoKey: unique symbol = Symbol('hubline.handler-info');

interface InformedHandler {
  readonly [infoKey]?: HandlerInfo;
}

/** Attaches introspection data to a handler and returns the handler. */
export function withHandlerInfo<THandler extends HandlerFunction<never>>(
  handler: THandler,
  info: HandlerInfo,
): THandler {
  return Object.defineProperty(handler, infoKey, { value: info });
}

/** Returns the introspection data of a handler, if it has any. */
export function handlerInfo(handler: object): HandlerInfo | undefined {
  // Only `withHandlerInfo` sets this key.
  return (handler as InformedHandler)[infoKey];
}

/** Returns an agent in its current state, followed by its delegates. */
export type AgentSource = () => readonly AgentDescription[];

/** Receives the agents that handlers run themselves. */
export interface AgentReporter {
  /** Adds an agent. The same source may be added repeatedly. */
  reportAgents(source: AgentSource): void;
}

/** Maximum number of agents that are shown of those that handlers run. */
const maxReported = 1_000;

interface Reported {
  source: AgentSource;
  /** Counts of earlier agents of this name, which an application may create per event. */
  before: AgentDescription | undefined;
}

/** Agents that the handlers of a hub run themselves. */
export class ReportedAgents implements AgentReporter {
  readonly #reported = new Map<string, Reported>();
  readonly #known = new WeakSet<AgentSource>();

  reportAgents(source: AgentSource): void {
    if (this.#known.has(source)) return;
    this.#known.add(source);
    const name = source()[0]?.name;
    if (name === undefined) return;
    const earlier = this.#reported.get(name);
    if (earlier !== undefined) {
      earlier.before = this.#current(earlier)[0];
      earlier.source = source;
    } else if (this.#reported.size < maxReported) {
      this.#reported.set(name, { source, before: undefined });
    }
  }

  /** Returns all reported agents, each followed by its delegates. */
  agents(): readonly AgentDescription[] {
    return [...this.#reported.values()].flatMap((reported) => this.#current(reported));
  }

  #current({ source, before }: Reported): readonly AgentDescription[] {
    const [first, ...delegates] = source();
    if (first === undefined || before === undefined) return first === undefined ? [] : [first, ...delegates];
    return [{ ...first, ...addUsage(first, before) }, ...delegates];
  }
}

/** Adds up the runs, tokens, hours and durations of two agents. */
export function addUsage(
  a: AgentDescription,
  b: AgentDescription,
): Pick<AgentDescription, 'runs' | 'tokenUsage' | 'begun' | 'hours' | 'durations' | 'longestMs'> {
  const runs = new Map(Object.entries(a.runs));
  for (const [status, count] of Object.entries(b.runs)) runs.set(status, (runs.get(status) ?? 0) + count);
  const durations = durationsOf(a);
  durations.merge(durationsOf(b));
  return {
    runs: Object.fromEntries(runs),
    tokenUsage: sumUsage([a.tokenUsage, b.tokenUsage]),
    // Of a description without the number, the runs that ended are the best known.
    begun: (a.begun ?? endedRuns(a)) + (b.begun ?? endedRuns(b)),
    hours: addHours(a.hours ?? [], b.hours ?? []),
    ...describeDurations(durations),
  };
}

function endedRuns({ runs }: AgentDescription): number {
  return Object.values(runs).reduce((sum, count) => sum + count, 0);
}

/** Hour in which an agent called its model. */
export interface AgentHour {
  /** Start of the hour in epoch milliseconds. */
  readonly at: number;
  /** Runs that began in the hour: that made their first model call. */
  readonly runs: number;
  /** Tokens of the model calls that ended in the hour. */
  readonly tokens: number;
  /** Cost of these calls; absent if one of them has none. */
  readonly cost?: number;
}

const hourMs = 3_600_000;
/** Hours that are kept: the current one and the 24 before it. */
const keptHours = 25;

/** Adds runs and tokens to the hour of `now`, the last of `hours`, and drops those that are older than a day. */
export function countInHour(
  hours: AgentHour[],
  now: number,
  counts: Pick<AgentHour, 'runs' | 'tokens' | 'cost'>,
): void {
  const at = Math.floor(now / hourMs) * hourMs;
  const last = hours.at(-1);
  // A clock that was set back counts in the newest hour.
  const isNew = last === undefined || last.at < at;
  if (isNew) {
    while (hours[0] !== undefined && hours[0].at <= at - keptHours * hourMs) hours.shift();
    hours.push({ at, ...counts });
  } else hours[hours.length - 1] = joinHours(last, counts);
}

/** Adds up two parts of an hour. The sum has a cost if each part that used tokens has one. */
function joinHours(a: AgentHour, b: Pick<AgentHour, 'runs' | 'tokens' | 'cost'>): AgentHour {
  const { at } = a;
  const tokens = a.tokens + b.tokens;
  const runs = a.runs + b.runs;
  if (tokens === 0 || !hasItsCost(a) || !hasItsCost(b)) return { at, runs, tokens };
  return { at, runs, tokens, cost: (a.cost ?? 0) + (b.cost ?? 0) };
}

function hasItsCost({ tokens, cost }: Pick<AgentHour, 'tokens' | 'cost'>): boolean {
  return tokens === 0 || cost !== undefined;
}

function addHours(a: readonly AgentHour[], b: readonly AgentHour[]): readonly AgentHour[] {
  const joined = new Map<number, AgentHour>();
  for (const hour of [...a, ...b]) {
    const known = joined.get(hour.at);
    joined.set(hour.at, known === undefined ? hour : joinHours(known, hour));
  }
  return [...joined.values()].sort((x, y) => x.at - y.at).slice(-keptHours);
}

/** Returns the durations of an agent's runs. */
export function durationsOf({ durations = [], longestMs }: AgentDescription): DurationSketch {
  return DurationSketch.from(durations, longestMs);
}

/** Returns what an agent's description has of the durations of its runs. */
export function describeDurations(sketch: DurationSketch): Pick<AgentDescription, 'durations' | 'longestMs'> {
  return sketch.isEmpty ? {} : { durations: sketch.toJSON(), longestMs: sketch.longestMs };
}

/** Public settings of an agent: no keys, no prompts. */
export interface AgentSummary {
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  /** Agents that it can delegate to, or hand the conversation over to. */
  readonly delegates: readonly string[];
  /** Those of the delegates that take the conversation over. Absent if there are none. */
  readonly handoffs?: readonly string[];
}

/** Agent of a hub with its runs and token usage. */
export interface AgentIntrospection extends AgentSummary {
  readonly description?: string;
  /**
   * Runs that ended since the start of the processes, by status. `handed_over`: another agent took the conversation over,
   * and counts the end of the run.
   */
  readonly runs: Readonly<Record<string, number>>;
  /**
   * Runs that run now, of the events that the agent handles and of workflows whose steps are this agent alone. Runs in
   * other workflows do not count.
   */
  readonly active?: number;
  /** Runs that wait and hold no process, of the same events and workflows. */
  readonly suspended?: number;
  /**
   * Percentiles of the durations of its runs since the start of the processes: from the start of a run, in whichever
   * process, to its end, suspended time included. Aborted runs do not count.
   * Absent before a run has ended.
   */
  readonly durationMs?: Durations;
  /**
   * Approvals that runs of the agent wait for. If several agents may wait in one workflow, its 1,000 runs with the oldest
   * approvals count.
   */
  readonly approvalsWaiting?: number;
  /** Tokens of the agent's own model calls. */
  readonly tokenUsage: TurnUsage;
  /**
   * Runs whose tokens are in `tokenUsage`: those that made their first model call, ended or not. Absent for processes of
   * versions that did not count them.
   */
  readonly begun?: number;
  /** Hours of the last day in which the agent called its model, since the start of the processes, oldest first. */
  readonly hours?: readonly AgentHour[];
  /** Maximum number of tokens per run. Absent if there is none. */
  readonly tokenBudget?: number;
  /** Maximum cost per run, in the currency of the agent's `prices`. Absent if there is none. */
  readonly costBudget?: number;
  /** Limits of what it spends in a window of time. Absent if there are none. */
  readonly spendLimits?: readonly SpendLimitDescription[];
}

/** Agent as a hub describes it to other hubs. */
export interface AgentDescription
  extends Omit<AgentIntrospection, 'durationMs' | 'approvalsWaiting' | 'active' | 'suspended'> {
  /** Sketch of the durations of its runs, as `DurationSketch` writes it. Absent before a run has ended. */
  readonly durations?: readonly number[];
  /** Longest of these durations. Absent in descriptions of versions that did not record it. */
  readonly longestMs?: number;
}

/** Facts about a step of an agent, for introspection. No text of a user, a model or a tool. */
export interface TurnFacts {
  /** Agent whose model was called. */
  readonly agent?: string;
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the model call, failed attempts at it included. */
  readonly usage?: TurnUsage;
  /** Number of calls that the vendor ran during the model call. Absent if none. */
  readonly vendorCalls?: number;
  /** The model received an error as the result of the tool call. */
  readonly isToolError?: true;
}

/** Tokens of one or more model calls, and their cost if the agent has prices. */
export interface TurnUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** Part of `promptTokens` that the vendor read from its cache. */
  readonly cachedTokens?: number;
  /** Part of `completionTokens` that the model used to reason. */
  readonly reasoningTokens?: number;
  /** In the currency of the agent's `prices`. */
  readonly cost?: number;
}

/** Returns these counts of a usage that may have others. */
export function shownUsage({
  promptTokens,
  completionTokens,
  totalTokens,
  cachedTokens,
  reasoningTokens,
  cost,
}: TurnUsage): TurnUsage {
  // No spreads: a durable turn takes microseconds.
  const shown: { -readonly [Key in keyof TurnUsage]: TurnUsage[Key] } = { promptTokens, completionTokens, totalTokens };
  if (cachedTokens !== undefined) shown.cachedTokens = cachedTokens;
  if (reasoningTokens !== undefined) shown.reasoningTokens = reasoningTokens;
  if (cost !== undefined) shown.cost = cost;
  return shown;
}

/** Sums the tokens of several calls. The sum has a cost if all calls that used tokens have one. */
export function sumUsage(all: readonly TurnUsage[]): TurnUsage {
  const sum = (read: (usage: TurnUsage) => number | undefined): number =>
    all.reduce((total, usage) => total + (read(usage) ?? 0), 0);
  const used = all.filter(({ totalTokens }) => totalTokens > 0);
  const cachedTokens = sum((usage) => usage.cachedTokens);
  const reasoningTokens = sum((usage) => usage.reasoningTokens);
  return {
    promptTokens: sum((usage) => usage.promptTokens),
    completionTokens: sum((usage) => usage.completionTokens),
    totalTokens: sum((usage) => usage.totalTokens),
    ...(cachedTokens > 0 && { cachedTokens }),
    ...(reasoningTokens > 0 && { reasoningTokens }),
    ...(used.length > 0 && used.every(({ cost }) => cost !== undefined) && { cost: sum((usage) => usage.cost) }),
  };
}
