import { pathSeparator } from '../../hub/runs/run-entry.js';
import type { StreamEvent } from '../../hub/runs/stream-run.js';
import { unwrapValue } from '../model/output-schema.js';
import { PartialJson } from '../model/partial-json.js';
import type { AgentStreamEvent } from './agent-stream.js';

/**
 * Event of an agent that runs with `publish: true`: `data` of the entries that `hub.stream` yields. As the events of
 * `agent.stream`, with the name of the agent and these differences: texts of 50 milliseconds are joined; `turn-end`
 * follows the calls of the turn, and their results follow it; there are no `object-delta` and `run-end`.
 */
export type PublishedAgentEvent = { readonly agent: string } & (
  | Exclude<AgentStreamEvent, { type: 'text-delta' | 'object-delta' | 'run-end' }>
  | (Extract<AgentStreamEvent, { type: 'text-delta' }> & {
      /** Part of a typed answer: JSON of the value, or of an object with the value as its property `value`. */
      readonly json?: 'value' | 'wrapped';
    })
);

const types: { readonly [Type in PublishedAgentEvent['type']]: true } = {
  'sent-text': true,
  'text-delta': true,
  'reasoning-delta': true,
  'tool-call': true,
  'turn-end': true,
  'approval-requested': true,
  handoff: true,
  source: true,
  'vendor-call': true,
  'tool-result': true,
};

/** Types of the events that follow the calls of a turn. */
const ofCalls: readonly string[] = [
  'tool-result',
  'approval-requested',
  'handoff',
] satisfies PublishedAgentEvent['type'][];

/** Returns the event of an agent in the data of an entry; `undefined` for what the application publishes. */
function agentEventOf(data: unknown): PublishedAgentEvent | undefined {
  const { agent, type, turn } = Object(data) as { agent?: unknown; type?: unknown; turn?: unknown };
  const isEvent = typeof agent === 'string' && typeof turn === 'number' && typeof type === 'string';
  // Agents publish entries of this form.
  return isEvent && Object.hasOwn(types, type) ? (data as PublishedAgentEvent) : undefined;
}

/** Another attempt at a model call begins, and a reader has texts of an earlier one. */
export class RepeatedTurnError extends Error {
  override readonly name = 'RepeatedTurnError';
}

type DataEntry = Extract<StreamEvent, { type: 'data' }>;

/** Turn of which a reader has events. */
interface ReadTurn {
  /** Number among the turns of all agents of the run. */
  readonly turn: number;
  readonly answer: PartialJson;
}

/** Reads the entries of a run as the events of one agent. */
export class PublishedEventReader {
  /** Turns by step. */
  readonly #turns = new Map<string, ReadTurn>();
  readonly #lastAttempts: ReadonlyMap<string, number>;

  /** @param lastAttempts number of the entry with which the last attempt of each step begins, as far as it is known */
  constructor(lastAttempts: ReadonlyMap<string, number>) {
    this.#lastAttempts = lastAttempts;
  }

  /**
   * Returns the events of an entry, and what the application published. Omits what is known to be repeated.
   *
   * @throws {RepeatedTurnError} if it turns out later
   */
  read({ data, sequence, step = '', begins }: DataEntry): {
    readonly events: AgentStreamEvent[];
    readonly other?: unknown;
  } {
    const event = agentEventOf(data);
    // A repeated result takes the place of the one before it.
    if (event !== undefined && ofCalls.includes(event.type)) {
      const turn = this.#turns.get(step.slice(0, step.lastIndexOf(pathSeparator)))?.turn ?? event.turn;
      return { events: [{ ...event, turn }] };
    }
    if (sequence < (this.#lastAttempts.get(step) ?? 0)) return { events: [] };
    return event === undefined ? { events: [], other: data } : { events: this.#readTurn(event, step, begins === true) };
  }

  #readTurn(event: PublishedAgentEvent, step: string, begins: boolean): AgentStreamEvent[] {
    if (begins && this.#turns.has(step)) throw new RepeatedTurnError('a model call is repeated');
    const read = this.#turns.get(step) ?? { turn: this.#turns.size + 1, answer: new PartialJson() };
    this.#turns.set(step, read);
    const { turn, answer } = read;
    if (event.type !== 'text-delta' || event.json === undefined) return [{ ...event, turn }];
    const value = answer.add(event.text);
    const unvalidated = event.json === 'wrapped' ? unwrapValue(value) : value;
    const text = { type: 'text-delta', turn, text: event.text } as const;
    return unvalidated === undefined ? [text] : [text, { type: 'object-delta', turn, unvalidated }];
  }
}
