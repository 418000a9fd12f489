import {
  type AgentConfig,
  AnthropicProvider,
  GeminiProvider,
  type ModelProvider,
  OpenAIProvider,
} from 'hubline/agents';
import { type Rule, rehearsedModel } from './rehearsed-model.js';

/** Models of the shop's agents. */
export interface AgentModels {
  /** One line that the shop prints at its start. */
  readonly description: string;
  /** Returns the provider and model of an agent, which follows `rule` if no vendor is selected. */
  modelFor(rule: Rule): Pick<AgentConfig, 'provider' | 'model'>;
}

interface Vendor {
  readonly key: string;
  readonly model: string;
  create(apiKey: string): ModelProvider;
}

const vendors: readonly Vendor[] = [
  { key: 'OPENAI_API_KEY', model: 'gpt-4o-mini', create: (apiKey) => new OpenAIProvider({ apiKey }) },
  { key: 'ANTHROPIC_API_KEY', model: 'claude-haiku-4-5', create: (apiKey) => new AnthropicProvider({ apiKey }) },
  { key: 'GEMINI_API_KEY', model: 'gemini-2.5-flash', create: (apiKey) => new GeminiProvider({ apiKey }) },
];

const keys = vendors.map(({ key }) => key).join(', ');

/** Selects the first vendor whose API key is set; without a key, agents answer from a script, offline. */
export function chooseModels(env: Readonly<Record<string, string | undefined>>): AgentModels {
  for (const { key, model, create } of vendors) {
    const apiKey = env[key];
    if (!apiKey) continue;
    const provider = create(apiKey);
    return {
      description: `Agents call ${model}, every few seconds, because ${key} is set.`,
      modelFor: () => ({ provider, model: { model } }),
    };
  }
  return {
    description: `Agents answer from a script, offline. Set one of ${keys} to call a model.`,
    modelFor: (rule) => ({ provider: rehearsedModel(rule), model: { model: 'rehearsed' } }),
  };
}
