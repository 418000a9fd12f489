import { delay } from '../agents/abortable.js';
import type { Message, ToolCall } from '../agents/model/message.js';
import type {
  FinishReason,
  ModelOptions,
  ModelProvider,
  ModelResponse,
  ModelStreamChunk,
} from '../agents/model/model-provider.js';
import type { TokenUsage } from '../agents/model/token-usage.js';
import { HubError, InvalidOptionError } from '../errors.js';
import { checkOptionNames } from '../option-names.js';
import { type Clock, systemClock } from '../transports/clock.js';

/** One scripted answer. */
export interface ScriptedAnswer {
  /** The text. An array is streamed piece by piece. @default '' */
  content?: string | readonly string[];
  /** Arguments that are no string are written as JSON. @default ids `call_1`, `call_2` ... over the whole script */
  toolCalls?: readonly { name: string; arguments?: unknown; id?: string }[];
  /** `null`: the provider reports none. @default 10 prompt and 5 completion tokens */
  usage?: TokenUsage | null;
  /** `null`: a stream ends without one, as a cut connection does. @default by whether there are calls */
  finishReason?: FinishReason | null;
  /** Milliseconds of the clock before the answer begins; the call's signal ends the wait. @default 0 */
  delayMs?: number;
  /** Thrown in place of the answer; in a stream after the pieces of `content`. */
  error?: unknown;
}

/** A call as the provider got it. */
export interface ScriptedCall {
  /** A copy of the list: the run goes on adding to its own. */
  readonly messages: readonly Message[];
  readonly options: ModelOptions;
}

/** A text, a failure, an answer, or a function that looks at the call and returns one of them. */
export type ScriptEntry = string | Error | ScriptedAnswer | ((call: ScriptedCall) => string | Error | ScriptedAnswer);

/** A model provider that answers from a script. */
export interface ScriptedProvider extends Required<ModelProvider> {
  /** All calls so far. */
  readonly calls: readonly ScriptedCall[];
  /**
   * Call it at the end of a test: a run that fails resolves, so that an unexpected call could go unseen.
   *
   * @throws {UnexpectedCallError} where there were more calls than entries
   * @throws {UnusedScriptError} where there were fewer
   */
  assertDone(): void;
}

/** The script had no entry left for a call. */
export class UnexpectedCallError extends HubError {
  constructor(calls: number, entries: number) {
    super(
      'ERR_UNEXPECTED_CALL',
      `model call ${calls} came, but the script has ${entries} entries; add one, or see why`,
    );
  }
}

/** Entries of the script were never asked for. */
export class UnusedScriptError extends HubError {
  constructor(calls: number, entries: number) {
    super('ERR_UNUSED_SCRIPT', `the script has ${entries} entries, but only ${calls} were asked for`);
  }
}

/**
 * A model for tests: it gives the script's answers in order, one a call, and keeps the calls.
 *
 * @example
 * const provider = scriptedProvider([
 *   { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
 *   'Yes, take one.',
 * ]);
 * const { output } = await createAgent({ ..., provider }).run('Do I need an umbrella?');
 * provider.assertDone();
 *
 * @param options `clock` is what `delayMs` counts on @default the machine's
 * @throws {InvalidOptionError} where the script is no list of entries
 */
export function scriptedProvider(
  script: readonly ScriptEntry[],
  { clock = systemClock }: { clock?: Clock } = {},
): ScriptedProvider {
  if (!Array.isArray(script)) throw new InvalidOptionError('script of scriptedProvider', 'an array of entries', script);
  for (const entry of script) if (typeof entry !== 'function') checkEntry(entry);
  const calls: ScriptedCall[] = [];
  let toolCallCount = 0;

  const next = async (messages: readonly Message[], options: ModelOptions): Promise<ScriptedAnswer> => {
    const call = { messages: [...messages], options };
    const entry = script[calls.length];
    calls.push(call);
    if (entry === undefined) throw new UnexpectedCallError(calls.length, script.length);
    const chosen = typeof entry === 'function' ? checkEntry(entry(call)) : entry;
    const answer =
      typeof chosen === 'string' ? { content: chosen } : chosen instanceof Error ? { error: chosen } : chosen;
    if (answer.delayMs !== undefined) await delay(clock, answer.delayMs, options.signal);
    options.signal?.throwIfAborted();
    return answer;
  };

  const toToolCalls = ({ toolCalls = [] }: ScriptedAnswer): ToolCall[] =>
    toolCalls.map(({ name, arguments: value = {}, id }) => {
      toolCallCount++;
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      return { id: id ?? `call_${toolCallCount}`, name, arguments: text };
    });

  return {
    name: 'scripted',
    calls,
    async chat(messages, options): Promise<ModelResponse> {
      const answer = await next(messages, options);
      if (answer.error !== undefined) throw answer.error;
      const toolCalls = toToolCalls(answer);
      return {
        content: pieces(answer).join(''),
        usage: answer.usage === undefined ? defaultUsage() : (answer.usage ?? nothingReported),
        finishReason: answer.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
        ...(toolCalls.length > 0 && { toolCalls }),
      };
    },
    async *chatStream(messages, options): AsyncGenerator<ModelStreamChunk> {
      const answer = await next(messages, options);
      for (const content of pieces(answer)) yield { content };
      if (answer.error !== undefined) throw answer.error;
      const toolCalls = toToolCalls(answer);
      if (toolCalls.length > 0) yield { toolCalls };
      if (answer.usage !== null) yield { usage: answer.usage ?? defaultUsage() };
      if (answer.finishReason === null) return;
      yield { finishReason: answer.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop') };
    },
    assertDone() {
      if (calls.length > script.length) throw new UnexpectedCallError(calls.length, script.length);
      if (calls.length < script.length) throw new UnusedScriptError(calls.length, script.length);
    },
  };
}

const answerNames: readonly string[] = ['content', 'toolCalls', 'usage', 'finishReason', 'delayMs', 'error'];

function checkEntry<TEntry extends Exclude<ScriptEntry, (call: ScriptedCall) => unknown>>(entry: TEntry): TEntry {
  if (typeof entry === 'string' || entry instanceof Error) return entry;
  if (typeof entry !== 'object' || entry === null) {
    throw new InvalidOptionError('an entry of a script', 'a text, an error, an answer or a function', entry);
  }
  // A misspelt `content` must not pass for an empty answer.
  checkOptionNames(entry, answerNames, 'a script entry');
  return entry;
}

const nothingReported: TokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

function defaultUsage(): TokenUsage {
  return { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
}

function pieces({ content = [] }: ScriptedAnswer): readonly string[] {
  return typeof content === 'string' ? [content] : content;
}
