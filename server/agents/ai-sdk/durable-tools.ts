import { errorInfo, InvalidOptionError, quote } from '../../errors.js';
import type { HandlerCtx } from '../../hub/events/context.js';
import { StepResult, type StepScope } from '../../hub/events/durable-place.js';
import { checkLimit, type Limit } from '../../hub/limits/limit.js';
import type { RunCtx } from '../../hub/runs/step.js';
import { OptionChecker } from '../../options.js';
import { nodeCrypto } from '../../transports/derived-ids.js';
import { InterruptedToolError, ToolResultNotJsonError } from '../errors.js';
import { observeTool } from '../gen-ai-operations.js';
import { fromJsonValue, toJsonValue } from './json-value.js';
import { hashOf, type RecordedCall, RecordedCalls } from './recorded-calls.js';

/** Options of one tool of {@link durableTools}. */
export interface DurableToolOptions {
  /**
   * `false`: an execution that was interrupted, by a crash or a shutdown, is not repeated. The model receives
   * {@link InterruptedToolError}. @default true
   */
  retryable?: boolean;
  /** Limit that each execution takes a permit of. @default no limit */
  limit?: Limit;
}

/** Call of a tool that {@link durableTools} executes. */
export interface DurableToolCall extends Pick<HandlerCtx, 'emit' | 'startWorkflow' | 'publish'> {
  /**
   * Key of the call, the same for every execution of it: pass it to other systems as their idempotency key. 43
   * characters.
   */
  readonly callKey: string;
}

const calls = new WeakMap<object, DurableToolCall>();

/**
 * Returns the call of a tool in its `execute`, from the options that the AI SDK passes there. What it emits and starts is
 * accepted together with the record of the result.
 *
 * @example
 * execute: ({ flight }, options) => book(flight, toolCallOf(options).callKey)
 *
 * @throws {InvalidOptionError} unless `durableTools` executes the tool
 */
export function toolCallOf(options: object): DurableToolCall {
  const call = typeof options === 'object' && options !== null ? calls.get(options) : undefined;
  if (call !== undefined) return call;
  throw new InvalidOptionError(
    'options of toolCallOf',
    'those that execute of a tool of durableTools received',
    options,
  );
}

type Execute = (input: unknown, options: ToolCallOptions) => unknown;

/** The part of the options of a tool's `execute` that is read. */
interface ToolCallOptions {
  readonly toolCallId: string;
}

/** Recorded result of a tool. */
interface RecordedResult extends RecordedCall {
  readonly output?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
}

/**
 * Returns tools of the AI SDK whose executions are steps of the run: a recorded result is not computed again. Results are
 * those that are recorded: JSON, with `Uint8Array`, `Date` and `URL`. An `execute` that yields returns its last value. Tools
 * without `execute` are returned as they are.
 *
 * @param ctx context of a workflow's function, or of a handler in `durableHandler`
 * @param options options by the name of the tool
 *
 * @example
 * const tools = durableTools({ lookUp, book }, ctx, { book: { retryable: false } });
 *
 * @throws {InvalidOptionError}
 */
export function durableTools<TTools extends Readonly<Record<string, object>>>(
  tools: TTools,
  ctx: HandlerCtx | RunCtx,
  options: { readonly [TName in keyof TTools]?: DurableToolOptions } = {},
): TTools {
  if (typeof tools !== 'object' || tools === null) {
    throw new InvalidOptionError('tools of durableTools', 'an object of tools by name', tools);
  }
  new OptionChecker(options, Object.keys(tools), 'durableTools');
  const recorded = new RecordedCalls(ctx, 'tools', 'durableTools');
  const entries = Object.entries(tools).map(([name, tool]) => {
    const own = options[name] ?? {};
    const owner = `tool ${quote(name)} of durableTools`;
    const check = new OptionChecker(own, ['retryable', 'limit'], owner);
    check.boolean('retryable', own.retryable);
    if (own.limit !== undefined) checkLimit(own.limit, `limit of ${owner}`);
    const execute: unknown = Reflect.get(tool, 'execute');
    if (typeof execute !== 'function') return [name, tool];
    // The AI SDK calls it with the input that the tool's schema returned.
    const durable = new DurableTool(name, execute.bind(tool) as Execute, own, recorded);
    return [name, { ...tool, execute: durable.execute }];
  });
  // The same tools: only their functions differ.
  return Object.fromEntries(entries) as TTools;
}

/** Numbers of the executions by the start of their ids: a turn may call a tool more than once. */
const usesOf = new WeakMap<object, Map<string, number>>();

class DurableTool {
  readonly #name: string;
  readonly #execute: Execute;
  readonly #options: DurableToolOptions;
  readonly #calls: RecordedCalls;

  constructor(name: string, execute: Execute, options: DurableToolOptions, recorded: RecordedCalls) {
    this.#name = name;
    this.#execute = execute;
    this.#options = options;
    this.#calls = recorded;
  }

  readonly execute = async (input: unknown, options: ToolCallOptions): Promise<unknown> => {
    const { run, waits } = this.#calls;
    const { limit } = this.#options;
    const id = this.#idOf(options.toolCallId);
    const asked = hashOf(input);
    let thrown: { readonly error: unknown } | undefined;
    const call = async (scope: StepScope): Promise<StepResult<RecordedResult>> => {
      const failed = (error: unknown): StepResult<RecordedResult> => {
        thrown = { error };
        const { name, message } = error instanceof Error ? error : errorInfo(error);
        return new StepResult({ asked, error: { name, message } }, { isToolError: true }, true, false);
      };
      if (this.#options.retryable === false) {
        if (run.isStarted(id)) return failed(new InterruptedToolError(this.#name));
        await run.start(id);
      }
      try {
        const output = await this.#run(id, input, options, scope);
        return new StepResult({ asked, output }, undefined, true);
      } catch (error) {
        // The run leaves its process, or is over its time: the next attempt executes the call again.
        if (waits.signal?.aborted) throw error;
        return failed(error);
      }
    };
    const { value } = await this.#calls.record('tool', id, asked, call, { recordsFailure: false, limit });
    if (thrown !== undefined) throw thrown.error;
    if (value.error === undefined) return fromJsonValue(value.output);
    throw Object.assign(new Error(value.error.message), { name: value.error.name });
  };

  /** Executes the tool, and returns its result as JSON. */
  async #run(id: string, input: unknown, options: ToolCallOptions, { emitter }: StepScope): Promise<unknown> {
    const { run, runId } = this.#calls;
    const { emit, startWorkflow } = emitter;
    const callKey = callKeyOf(run.key, id);
    // Few tools publish, and what they publish has a writer of its own.
    const publish: HandlerCtx['publish'] = (data) => emitter.publish(data);
    calls.set(options, { emit, startWorkflow, publish, callKey });
    const called = { id: options.toolCallId, name: this.#name, arguments: '' };
    const execute = async (): Promise<unknown> => {
      const returned = await this.#execute(input, options);
      return isAsyncIterable(returned) ? lastOf(returned) : returned;
    };
    const output = await observeTool(called, this.#name, { agentName: run.name, runId }, execute);
    try {
      return toJsonValue(output);
    } catch (error) {
      throw new ToolResultNotJsonError(this.#name, errorInfo(error).message, error);
    }
  }

  #idOf(callId: string): string {
    const { run } = this.#calls;
    const start = `${this.#calls.pathOfCall(callId)}${this.#name}`;
    const uses = usesOf.get(run) ?? new Map<string, number>();
    usesOf.set(run, uses);
    const use = (uses.get(start) ?? 0) + 1;
    uses.set(start, use);
    return use === 1 ? start : `${start} #${use}`;
  }
}

function callKeyOf(runKey: string, id: string): string {
  return nodeCrypto()
    .createHash('sha256')
    .update(JSON.stringify([runKey, id]))
    .digest('base64url');
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function lastOf(values: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const value of values) last = value;
  return last;
}
