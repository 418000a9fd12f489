import { DurationSketch } from '../../transports/statistics/durations.js';
import type { Durations } from '../../transports/statistics/stats.js';

/** Returns an agent in its current state, followed by its delegates. */
export type AgentSource = () => readonly AgentDescription[];

/** Receives the agents that handlers run themselves. */
export interface AgentReporter {
  /** Adds an agent. The same source may be added repeatedly. */
  reportAgents(source: AgentSource): void;
}

/** Key of the reporter in the context of a handler. */
const reporterKey: unique symbol = Symbol('hubline.agent-reporter');

/** Makes a context report agents. The property is own and enumerable, so that it survives `{ ...ctx }`. */
export function attachReporter(ctx: object, reporter: AgentReporter): void {
  (ctx as { [reporterKey]?: AgentReporter })[reporterKey] = reporter;
}

/** Reports an agent that runs with `ctx`, if `ctx` is the context of a handler or a step. */
export function reportAgents(ctx: object | undefined, source: AgentSource): void {
  // Only the hub sets this key.
  (ctx as { readonly [reporterKey]?: AgentReporter } | undefined)?.[reporterKey]?.reportAgents(source);
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

/** Adds up the runs, tokens and durations of two agents. */
export function addUsage(
  a: AgentDescription,
  b: AgentDescription,
): Pick<AgentDescription, 'runs' | 'tokenUsage' | 'durations'> {
  const runs = new Map(Object.entries(a.runs));
  for (const [status, count] of Object.entries(b.runs)) runs.set(status, (runs.get(status) ?? 0) + count);
  const durations = DurationSketch.from(a.durations ?? []);
  durations.merge(DurationSketch.from(b.durations ?? []));
  return {
    runs: Object.fromEntries(runs),
    tokenUsage: sumUsage([a.tokenUsage, b.tokenUsage]),
    ...(!durations.isEmpty && { durations: durations.toJSON() }),
  };
}

/** Public settings of an agent: no keys, no prompts. */
export interface AgentSummary {
  readonly name: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly delegates: readonly string[];
}

/** Agent of a hub with its runs and token usage. */
export interface AgentIntrospection extends AgentSummary {
  readonly description?: string;
  /** Runs that ended since the start of the processes, by status. */
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
   * process, to its end, suspended time included. The maximum is accurate to 10 % as well. Aborted runs do not count.
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
}

/** Agent as a hub describes it to other hubs. */
export interface AgentDescription
  extends Omit<AgentIntrospection, 'durationMs' | 'approvalsWaiting' | 'active' | 'suspended'> {
  /** Sketch of the durations of its runs, as `DurationSketch` writes it. Absent before a run has ended. */
  readonly durations?: readonly number[];
}

/** Facts about a step of an agent, for introspection. No text of a user, a model or a tool. */
export interface TurnFacts {
  /** Agent whose model was called. */
  readonly agent?: string;
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the model call, failed attempts at it included. */
  readonly usage?: TurnUsage;
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
