import { delay } from '../agents/abortable.js';
import type { Message, ToolCall } from '../agents/model/message.js';
import type {
  FinishReason,
  ModelOptions,
  ModelProvider,
  ModelResponse,
  ModelStreamChunk,
} from '../agents/model/model-provider.js';
import { isUsage, type TokenUsage } from '../agents/model/token-usage.js';
import type { Source, VendorCall } from '../agents/model/vendor-parts.js';
import { HubError, InvalidOptionError } from '../errors.js';
import { OptionChecker } from '../options.js';
import { type Clock, systemClock } from '../transports/clock.js';

/** Scripted answer of one call. */
export interface ScriptedAnswer {
  /** The text. The elements of an array are streamed as separate deltas. @default '' */
  content?: string | readonly string[];
  /** Text of the model's reasoning, which only streams show, in front of `content`. @default none */
  reasoning?: string | readonly string[];
  /** Tool calls. Arguments other than strings become JSON. @default ids `call_1`, `call_2` ... per script */
  toolCalls?: readonly { name: string; arguments?: unknown; id?: string }[];
  /** Sources of the answer, after `content`. @default none */
  sources?: readonly Source[];
  /** Calls that the vendor ran, in front of `content`. A stream begins each call before it has the result. @default none */
  vendorCalls?: readonly VendorCall[];
  /** Reported usage; `null` reports none. @default 10 prompt and 5 completion tokens */
  usage?: TokenUsage | null;
  /** Finish reason; `null` ends a stream without one, like a lost connection. @default derived from `toolCalls` */
  finishReason?: FinishReason | null;
  /** Milliseconds of the clock before the answer starts. The call's signal ends the delay. @default 0 */
  delayMs?: number;
  /** Error that is thrown instead of the answer; in a stream, after the deltas of `content`. */
  error?: unknown;
}

/** Recorded call of the provider. */
export interface ScriptedCall {
  /** Copy of the list, because the run appends to its own. */
  readonly messages: readonly Message[];
  readonly options: ModelOptions;
}

/** Text, error, answer, or function that receives the call and returns one of them. */
export type ScriptEntry = string | Error | ScriptedAnswer | ((call: ScriptedCall) => string | Error | ScriptedAnswer);

/** Model provider that answers from a script. */
export interface ScriptedProvider extends Required<ModelProvider> {
  /** Calls so far. */
  readonly calls: readonly ScriptedCall[];
  /**
   * Checks that the script was used completely. Call it at the end of a test: a failed run resolves, so an unexpected
   * call could stay unnoticed.
   *
   * @throws {UnexpectedCallError} if there were more calls than entries
   * @throws {UnusedScriptError} if there were fewer
   */
  assertDone(): void;
}

/** The script had no entry left for a call. */
export class UnexpectedCallError extends HubError {
  constructor(calls: number, entries: number) {
    super(
      'ERR_UNEXPECTED_CALL',
      `unexpected model call ${calls}: the script has ${entries} entries; add an entry, or find the cause of the call`,
    );
  }
}

/** The script has entries that no call used. */
export class UnusedScriptError extends HubError {
  constructor(calls: number, entries: number) {
    super('ERR_UNUSED_SCRIPT', `the script has ${entries} entries, but only ${calls} calls were made`);
  }
}

/**
 * Creates a model provider for tests. It returns the answers of the script in order, one per call, and records the
 * calls.
 *
 * @example
 * const provider = scriptedProvider([
 *   { toolCalls: [{ name: 'weather', arguments: { city: 'Bergen' } }] },
 *   'Yes, take one.',
 * ]);
 * const { output } = await createAgent({ ..., provider }).run('Do I need an umbrella?');
 * provider.assertDone();
 *
 * @param options `clock` measures `delayMs` @default the system clock; `jsonMode`: see {@link ModelProvider.jsonMode}
 * @throws {InvalidOptionError} if the script is not an array of entries
 */
export function scriptedProvider(
  script: readonly ScriptEntry[],
  options: { clock?: Clock; jsonMode?: boolean } = {},
): ScriptedProvider {
  const { clock = systemClock, jsonMode = false } = options;
  new OptionChecker(options, ['clock', 'jsonMode'], 'scriptedProvider').boolean('jsonMode', jsonMode);
  if (!Array.isArray(script)) throw new InvalidOptionError('script of scriptedProvider', 'an array of entries', script);
  if (typeof clock?.after !== 'function') throw new InvalidOptionError('clock of scriptedProvider', 'a Clock', clock);
  script.forEach((entry, index) => {
    if (typeof entry !== 'function') checkEntry(entry, index);
  });
  const calls: ScriptedCall[] = [];
  let toolCallCount = 0;

  const next = async (messages: readonly Message[], called: ModelOptions): Promise<ScriptedAnswer> => {
    const call = { messages: [...messages], options: called };
    const entry = script[calls.length];
    calls.push(call);
    if (entry === undefined) throw new UnexpectedCallError(calls.length, script.length);
    const chosen = typeof entry === 'function' ? checkEntry(entry(call), calls.length - 1) : entry;
    const answer =
      typeof chosen === 'string' ? { content: chosen } : chosen instanceof Error ? { error: chosen } : chosen;
    if (answer.delayMs !== undefined) await delay(clock, answer.delayMs, called.signal);
    called.signal?.throwIfAborted();
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
    jsonMode,
    readsParts: true,
    calls,
    async chat(messages, options): Promise<ModelResponse> {
      const answer = await next(messages, options);
      if (answer.error !== undefined) throw answer.error;
      const toolCalls = toToolCalls(answer);
      return {
        content: deltas(answer).join(''),
        usage: answer.usage === undefined ? defaultUsage() : (answer.usage ?? unreportedUsage),
        finishReason: answer.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
        ...(toolCalls.length > 0 && { toolCalls }),
        ...(answer.sources && { sources: answer.sources }),
        ...(answer.vendorCalls && { vendorCalls: answer.vendorCalls }),
      };
    },
    async *chatStream(messages, options): AsyncGenerator<ModelStreamChunk> {
      const answer = await next(messages, options);
      for (const reasoning of deltas({ content: answer.reasoning ?? [] })) yield { reasoning };
      for (const call of answer.vendorCalls ?? []) {
        const { result: _later, isError: _unknown, ...begun } = call;
        yield { vendorCalls: [begun] };
        yield { vendorCalls: [call] };
      }
      for (const content of deltas(answer)) yield { content };
      for (const source of answer.sources ?? []) yield { sources: [source] };
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

const answerNames: readonly string[] = [
  'content',
  'reasoning',
  'toolCalls',
  'sources',
  'vendorCalls',
  'usage',
  'finishReason',
  'delayMs',
  'error',
];

const finishReasons: readonly unknown[] = [undefined, null, 'stop', 'tool_calls', 'length'];

/** Checks an entry, or what a function returned for it: a mistake must not be treated as an empty answer. */
function checkEntry<TEntry extends Exclude<ScriptEntry, (call: ScriptedCall) => unknown>>(
  entry: TEntry,
  index: number,
): TEntry {
  const owner = `entry ${index + 1} of the script`;
  if (typeof entry === 'string' || entry instanceof Error) return entry;
  if (typeof entry !== 'object' || entry === null) {
    throw new InvalidOptionError(owner, 'a text, an error, an answer or a function', entry);
  }
  if ('then' in entry) {
    throw new InvalidOptionError(owner, 'awaited before: a function of a script is synchronous', 'a promise');
  }
  const check = new OptionChecker(entry, answerNames, owner);
  const { content = '', reasoning = '', toolCalls = [], usage = null, finishReason, delayMs } = entry;
  const isText = (text: unknown): boolean => isString(text) || (Array.isArray(text) && text.every(isString));
  check.that(isText(content), 'content', 'a text or an array of texts', content);
  check.that(isText(reasoning), 'reasoning', 'a text or an array of texts', reasoning);
  const areCalls = Array.isArray(toolCalls) && toolCalls.every(isScriptedCall);
  check.that(areCalls, 'toolCalls', 'an array of { name, arguments?, id? }', toolCalls);
  for (const [name, list] of Object.entries({ sources: entry.sources, vendorCalls: entry.vendorCalls })) {
    check.that(list === undefined || Array.isArray(list), name, 'an array', list);
  }
  check.that(
    usage === null || isUsage(usage),
    'usage',
    'null or { promptTokens, completionTokens, totalTokens }',
    usage,
  );
  check.that(
    finishReasons.includes(finishReason),
    'finishReason',
    '"stop", "tool_calls", "length" or null',
    finishReason,
  );
  check.durationMs('delayMs', delayMs);
  return entry;
}

const callNames: readonly string[] = ['name', 'arguments', 'id'];

function isScriptedCall(call: unknown): boolean {
  if (typeof call !== 'object' || call === null || !Object.keys(call).every((name) => callNames.includes(name)))
    return false;
  const { name, id = '' }: { name?: unknown; id?: unknown } = call;
  return typeof name === 'string' && typeof id === 'string';
}

function isString(value: unknown): boolean {
  return typeof value === 'string';
}

const unreportedUsage: TokenUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 };

function defaultUsage(): TokenUsage {
  return { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
}

function deltas({ content = [] }: ScriptedAnswer): readonly string[] {
  return typeof content === 'string' ? [content] : content;
}
