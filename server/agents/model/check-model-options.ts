import { InvalidOptionError } from '../../errors.js';
import { OptionChecker } from '../../options.js';
import type { ModelOptions } from './model-provider.js';

const names: readonly (keyof ModelOptions)[] = [
  'model',
  'temperature',
  'topP',
  'maxTokens',
  'stop',
  'seed',
  'reasoning',
  'toolChoice',
  'cache',
  'timeoutMs',
  'providerOptions',
  'responseFormat',
  'tools',
  'signal',
];

/**
 * Refuses options that no model reads: a misspelt `max_tokens` must not be ignored.
 *
 * @throws {InvalidOptionError}
 */
export function checkModelOptionNames(options: ModelOptions, owner = 'the model call'): void {
  const known: readonly string[] = names;
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new InvalidOptionError(`option of ${owner}`, `one of ${names.join(', ')}`, unknown);
  }
}

/**
 * Checks the settings of an agent's model.
 *
 * @param owner name of the agent in messages
 * @param hasTools `true` if the agent has tools or agents to delegate to
 * @throws {InvalidOptionError}
 */
export function checkModelOptions(model: ModelOptions, owner: string, hasTools: boolean): void {
  if (typeof model !== 'object' || model === null) {
    throw new InvalidOptionError(`model of ${owner}`, 'an object such as { model: "..." }', model);
  }
  checkModelOptionNames(model, `model of ${owner}`);
  const check = new OptionChecker(model, names, owner, 'model');
  const { model: id, temperature, topP, maxTokens, timeoutMs, stop, seed, cache } = model;
  const { responseFormat, tools, signal } = model;
  check.that(typeof id === 'string' && id !== '', 'model', 'a non-empty string', id);
  check.that(temperature === undefined || Number.isFinite(temperature), 'temperature', 'a number', temperature);
  check.that(topP === undefined || (typeof topP === 'number' && topP >= 0 && topP <= 1), 'topP', 'from 0 to 1', topP);
  check.count('maxTokens', maxTokens);
  check.durationMs('timeoutMs', timeoutMs, { min: 1 });
  check.that(stop === undefined || isTexts(stop), 'stop', 'an array of non-empty strings', stop);
  check.count('seed', seed, { min: Number.MIN_SAFE_INTEGER });
  check.boolean('cache', cache);
  checkReasoning(model.reasoning, check, owner);
  checkToolChoice(model.toolChoice, check, owner, hasTools);
  checkProviderOptions(model.providerOptions, check);
  const isText = responseFormat === undefined;
  check.that(isText, 'responseFormat', 'omitted: pass outputSchema of the agent', responseFormat);
  check.that(tools === undefined, 'tools', 'omitted: pass tools as "tools" of the agent', tools);
  check.that(signal === undefined, 'signal', 'omitted: pass the signal as run(input, { signal })', signal);
}

const efforts: readonly unknown[] = ['low', 'medium', 'high'];

function checkReasoning(reasoning: ModelOptions['reasoning'], check: OptionChecker, owner: string): void {
  if (typeof reasoning === 'object' && reasoning !== null) {
    const budget = new OptionChecker(reasoning, ['budgetTokens'], owner, 'model.reasoning');
    budget.required('budgetTokens', reasoning.budgetTokens);
    budget.count('budgetTokens', reasoning.budgetTokens);
    return;
  }
  const isEffort = reasoning === undefined || efforts.includes(reasoning);
  check.that(isEffort, 'reasoning', '"low", "medium", "high" or { budgetTokens }', reasoning);
}

const choices: readonly unknown[] = ['auto', 'none', 'required'];

function checkToolChoice(
  toolChoice: ModelOptions['toolChoice'],
  check: OptionChecker,
  owner: string,
  hasTools: boolean,
): void {
  if (toolChoice === undefined) return;
  if (typeof toolChoice === 'object' && toolChoice !== null) {
    const tool = new OptionChecker(toolChoice, ['tool'], owner, 'model.toolChoice');
    const isName = typeof toolChoice.tool === 'string' && toolChoice.tool !== '';
    tool.that(isName, 'tool', 'the name of a tool', toolChoice.tool);
  } else {
    check.that(choices.includes(toolChoice), 'toolChoice', '"auto", "none", "required" or { tool }', toolChoice);
  }
  check.that(hasTools, 'toolChoice', 'omitted if the agent has no tools', toolChoice);
}

function checkProviderOptions(providerOptions: ModelOptions['providerOptions'], check: OptionChecker): void {
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  const isValid =
    providerOptions === undefined || (isObject(providerOptions) && Object.values(providerOptions).every(isObject));
  check.that(isValid, 'providerOptions', 'an object of objects, such as { openai: { ... } }', providerOptions);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string' && text !== '');
}
