import { DurationSketch } from '../../../transports/statistics/duration-sketch.js';
import type { AgentDescription } from './agent-introspection.js';
import { sumUsage } from './turn-facts.js';

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
