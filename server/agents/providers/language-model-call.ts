import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider';
import { OrphanToolMessageError } from '../errors.js';
import { recordOf, wellFormed } from '../model/foreign-values.js';
import type { Message, ToolDefinition } from '../model/message.js';
import type { ModelOptions } from '../model/model-provider.js';
import type { Part } from '../model/part.js';
import { isErrorContent } from '../tools/tool-executor.js';
import { type ReplayPart, readReplay } from './answer-builder.js';
import { readableMessages, type SplitResult, splitResult, toUserParts } from './prompt-media.js';
import {
  addInstruction,
  addsJsonTool,
  isResponses,
  isStored,
  markCacheable,
  toJsonMode,
  toToolSchema,
  toVendorSettings,
} from './vendor-settings.js';
import { toVendorTools } from './vendor-tools.js';
import { describeUnsaid, isStrictSchema } from './wire-schema.js';

type AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number];

/** Call of a language model. */
export interface ModelCall {
  readonly options: LanguageModelV3CallOptions;
  readonly names: ToolNames;
}

/**
 * Returns a call of a language model.
 *
 * @throws {OrphanToolMessageError}
 * @throws {InvalidOptionError} if the vendor does not offer a setting
 * @throws {UnsupportedPartError}
 */
export async function toModelCall(
  messages: readonly Message[],
  options: ModelOptions,
  model: Pick<LanguageModelV3, 'provider' | 'modelId' | 'supportedUrls'>,
): Promise<ModelCall> {
  // The package of older Anthropic models has a tool of its own.
  const ofPackage = addsJsonTool(options, model.provider, model.modelId) ? ['json'] : [];
  const ofVendor = toVendorTools(options, model.provider, model.modelId).map(({ name }) => name);
  const names = new ToolNames(options.tools, [...ofPackage, ...ofVendor]);
  const sent = messages.some(({ parts }) => parts !== undefined) ? await readableMessages(messages, model) : messages;
  return { options: toCall(sent, options, model, names), names };
}

function toCall(
  messages: readonly Message[],
  options: ModelOptions,
  { provider, modelId }: Pick<LanguageModelV3, 'provider' | 'modelId'>,
  names: ToolNames,
): LanguageModelV3CallOptions {
  const { temperature, topP, stop, seed, signal } = options;
  const prompt = toPrompt(messages, provider, names);
  const json = toJsonMode(options, provider, modelId);
  if (json?.instruction !== undefined) addInstruction(prompt, json.instruction);
  const { maxTokens, providerOptions } = toVendorSettings(options, provider, modelId, json?.settings);
  if (isResponses.test(provider) && !isStored(providerOptions)) dropUnreadableReasoning(prompt);
  if (options.cache) markCacheable(prompt, provider);
  return {
    prompt,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...(seed !== undefined && { seed }),
    ...(signal && { abortSignal: signal }),
    ...(json?.responseFormat && { responseFormat: json.responseFormat }),
    ...(providerOptions && { providerOptions }),
    ...toTools(messages, options, { provider, modelId }, names),
  };
}

function toTools(
  messages: readonly Message[],
  options: ModelOptions,
  { provider, modelId }: Pick<LanguageModelV3, 'provider' | 'modelId'>,
  names: ToolNames,
): Pick<LanguageModelV3CallOptions, 'tools' | 'toolChoice'> {
  const own = options.tools ?? [];
  const vendor = toVendorTools(options, provider, modelId);
  if (own.length + vendor.length === 0) return pastTools(messages, provider, names);
  const tools = [...own.map((tool) => toFunctionTool(tool, provider, names)), ...vendor];
  return { tools, ...(own.length > 0 && toToolChoice(options, names)) };
}

function toToolChoice({ toolChoice }: ModelOptions, names: ToolNames): Pick<LanguageModelV3CallOptions, 'toolChoice'> {
  if (toolChoice === undefined) return {};
  return {
    toolChoice:
      typeof toolChoice === 'string' ? { type: toolChoice } : { type: 'tool', toolName: names.toSent(toolChoice.tool) },
  };
}

function toFunctionTool(
  { name, description, parameters }: ToolDefinition,
  provider: string,
  names: ToolNames,
): LanguageModelV3FunctionTool {
  const wire = toToolSchema(parameters, provider);
  const rules = describeUnsaid(wire, 'arguments');
  return {
    type: 'function',
    name: names.toSent(name),
    description: rules === undefined ? description : `${description}\n\n${rules}`.trimStart(),
    inputSchema: wire.schema,
    // Without a value, this API makes every optional property a required one.
    ...(isResponses.test(provider) && { strict: isStrictSchema(wire.schema) }),
  };
}

/**
 * Returns definitions of the tools that the conversation calls, and forbids the model to call them. Anthropic rejects
 * a conversation with tool calls if no tools are defined.
 */
function pastTools(
  messages: readonly Message[],
  provider: string,
  names: ToolNames,
): Pick<LanguageModelV3CallOptions, 'tools' | 'toolChoice'> {
  if (!provider.includes('anthropic')) return {};
  const called = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => names.toSent(name)));
  if (called.length === 0) return {};
  const tools = [...new Set(called)].map((name): LanguageModelV3FunctionTool => {
    return { type: 'function', name, description: 'Not available in this turn', inputSchema: { type: 'object' } };
  });
  return { tools, toolChoice: { type: 'none' } };
}

/**
 * Converts messages to the AI SDK's prompt. Adjacent messages of one role are merged: vendors require that user and
 * assistant alternate, and that all results of a turn are in one message. An assistant message without content is
 * omitted, because vendors reject it.
 */
export function toPrompt(
  messages: readonly Message[],
  provider: string,
  names: ToolNames = new ToolNames(),
): LanguageModelV3Prompt {
  const prompt: LanguageModelV3Prompt = [];
  const toolNames = new Map<string, string>();
  // Media of results for which the vendor has no place in the results themselves.
  const behind: Part[] = [];
  for (const message of messages) {
    if (message.role !== 'tool' && behind.length > 0) {
      addUserMessage(prompt, { role: 'user', content: '', parts: behind.splice(0) }, provider);
    }
    const last = prompt.at(-1);
    if (message.role === 'system') {
      if (message.content !== '') prompt.push({ role: 'system', content: message.content });
    } else if (message.role === 'user') {
      addUserMessage(prompt, message, provider);
    } else if (message.role === 'assistant') {
      for (const { id, name } of message.toolCalls ?? []) toolNames.set(id, names.toSent(name));
      const parts = toAssistantParts(message, provider, names);
      if (parts.length === 0) continue;
      if (last?.role === 'assistant') last.content.push(...parts);
      else prompt.push({ role: 'assistant', content: parts });
    } else {
      const { part, rest } = toToolResult(message, provider, toolNames);
      if (last?.role === 'tool') last.content.push(part);
      else prompt.push({ role: 'tool', content: [part] });
      if (rest.length > 0) behind.push({ type: 'text', text: `Media of the result of ${part.toolName}:` }, ...rest);
    }
  }
  if (behind.length > 0) addUserMessage(prompt, { role: 'user', content: '', parts: behind }, provider);
  return prompt;
}

/** Adds a text as a single part to a user message that has one, because some servers accept only a string. */
function addUserMessage(prompt: LanguageModelV3Prompt, { content, parts }: Message, provider: string): void {
  const last = prompt.at(-1);
  const added = parts === undefined ? [{ type: 'text' as const, text: content }] : toUserParts(parts, provider);
  if (last?.role !== 'user') {
    prompt.push({ role: 'user', content: added });
    return;
  }
  const text = last.content.at(-1);
  if (text?.type === 'text' && parts === undefined) text.text += `\n\n${content}`;
  else last.content.push(...added);
}

function toAssistantParts(message: Message, provider: string, names: ToolNames): AssistantPart[] {
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: text }): AssistantPart => {
    return { type: 'tool-call', toolCallId: id, toolName: names.toSent(name), input: parseArguments(text) };
  });
  const replay = readReplay(message, provider);
  if (replay === undefined) {
    return isBlank(message.content) ? calls : [{ type: 'text', text: message.content }, ...calls];
  }
  const parts = replay.flatMap((part): AssistantPart[] => {
    if (part.type === 'text' && isBlank(part.text) && part.metadata === undefined) return [];
    const own = part.type === 'call' ? calls[part.index] : toOwnPart(part, provider);
    return own === undefined ? [] : [{ ...own, ...(part.metadata && { providerOptions: part.metadata }) }];
  });
  // Vendors refuse reasoning that leads to nothing, such as that of an answer which reached its limit of tokens.
  return parts.slice(0, parts.findLastIndex(({ type }) => type !== 'reasoning') + 1);
}

/** Returns a part of an answer; `undefined` for what the vendor's package cannot send. */
function toOwnPart(part: Exclude<ReplayPart, { type: 'call' }>, provider: string): AssistantPart | undefined {
  if ('text' in part) return { type: part.type, text: part.text };
  // The package sends any other call as one of a function, which has no result.
  if (provider.startsWith('google') && recordOf(part.metadata?.['google'])['serverToolCallId'] === undefined) {
    return undefined;
  }
  const { id: toolCallId, name: toolName } = part;
  if (part.type === 'vendor-call') {
    return { type: 'tool-call', toolCallId, toolName, input: part.input, providerExecuted: true };
  }
  const type = part.isError === true ? 'error-json' : 'json';
  return { type: 'tool-result', toolCallId, toolName, output: { type, value: part.result } };
}

/**
 * Removes reasoning that came without its encrypted content: the vendor has not kept it, and refuses a message that
 * refers to it.
 */
function dropUnreadableReasoning(prompt: LanguageModelV3Prompt): void {
  for (const message of prompt) {
    if (message.role !== 'assistant') continue;
    const encrypted = message.content.filter((part) => itemOf(part)['reasoningEncryptedContent']).map(itemIdOf);
    const isReadable = (part: AssistantPart) => part.type !== 'reasoning' || encrypted.includes(itemIdOf(part));
    if (message.content.every(isReadable)) continue;
    message.content = message.content.filter(isReadable).map((part) => {
      if (part.type !== 'text') return part;
      const { itemId: _reference, ...item } = itemOf(part);
      // The item came as JSON.
      const own = { openai: item, azure: item } as NonNullable<typeof part.providerOptions>;
      return { ...part, providerOptions: own };
    });
  }
}

/** Returns the item of OpenAI's Responses to which a part belongs. */
function itemOf({ providerOptions }: AssistantPart): Readonly<Record<string, unknown>> {
  return recordOf(providerOptions?.['openai'] ?? providerOptions?.['azure']);
}

function itemIdOf(part: AssistantPart): unknown {
  return itemOf(part)['itemId'];
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

/**
 * Names of the tools of a call as every vendor accepts them: letters, digits, `_` and `-`, the first one no digit or
 * `-`, and at most 64. A model may invent a name such as `functions.search`, and its vendor then rejects every further
 * call of the conversation.
 */
export class ToolNames {
  readonly #sent = new Map<string, string>();
  readonly #own = new Map<string, string>();

  /** @param reserved names that the vendor's package uses itself */
  constructor(tools: readonly ToolDefinition[] = [], reserved: readonly string[] = []) {
    const names = tools.map(({ name }) => name);
    // A name that is valid stays with its tool.
    const taken = new Set([...reserved, ...names.filter((name) => toSendableName(name) === name)]);
    for (const name of names) {
      const sendable = toSendableName(name);
      if (sendable === name && !reserved.includes(name)) continue;
      let sent = sendable;
      for (let n = 2; taken.has(sent); n++) sent = `${sendable.slice(0, maxNameLength - 4)}_${n}`;
      taken.add(sent);
      this.#sent.set(name, sent);
      this.#own.set(sent, name);
    }
  }

  toSent(name: string): string {
    return this.#sent.get(name) ?? toSendableName(name);
  }

  /** Returns the name of the tool that a model calls. */
  readonly toOwn = (name: string): string => this.#own.get(name) ?? name;
}

const maxNameLength = 64;

function toSendableName(name: string): string {
  const sendable =
    name
      .replaceAll(/[^\w-]/g, '_')
      .replace(/^(?=[\d-])/, '_')
      .slice(0, maxNameLength) || '_';
  // A package that looks the name up in a plain object finds a function, and omits the call.
  return sendable in {} ? `_${sendable}` : sendable;
}

/** Returns the arguments as an object, as vendors require. Other arguments were answered with an error. */
function parseArguments(text: string): object {
  try {
    // An escape in the JSON text can stand for half of a surrogate pair.
    const value: unknown = wellFormed(JSON.parse(text));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

function toToolResult(
  message: Message,
  provider: string,
  toolNames: ReadonlyMap<string, string>,
): { part: LanguageModelV3ToolResultPart; rest: readonly Part[] } {
  const { toolCallId = '', content, parts } = message;
  const toolName = toolNames.get(toolCallId);
  if (toolName === undefined) throw new OrphanToolMessageError(toolCallId);
  const { output, rest }: SplitResult =
    parts === undefined
      ? { output: { type: isErrorContent(content) ? 'error-text' : 'text', value: content }, rest: [] }
      : splitResult(message, provider);
  return { part: { type: 'tool-result', toolCallId, toolName, output }, rest };
}
