import { type AgentConfig, AlphaProvider, BetaProvider, GammaProvider, type ModelProvider } from 'hubline/agents';
import { type Rule, rehearsedModel } from './rehearsed-model.js';

/** Where the shop's agents get their answers. */
export interface AgentModels {
  /** One line for who starts the shop. */
  readonly description: string;
  /** What an agent is made with; it follows `rule` where no vendor is asked. */
  modelFor(rule: Rule): Pick<AgentConfig, 'provider' | 'model'>;
}

interface Vendor {
  readonly key: string;
  readonly model: string;
  create(apiKey: string): ModelProvider;
}

const vendors: readonly Vendor[] = [
  { key: 'OPENAI_API_KEY', model: 'gpt-4o-mini', create: (apiKey) => new AlphaProvider({ apiKey }) },
  { key: 'ANTHROPIC_API_KEY', model: 'claude-haiku-4-5', create: (apiKey) => new BetaProvider({ apiKey }) },
  { key: 'GEMINI_API_KEY', model: 'gemini-2.5-flash', create: (apiKey) => new GammaProvider({ apiKey }) },
];

const keys = vendors.map(({ key }) => key).join(', ');

/** The vendor whose key is set, the first one of several; without a key answers are rehearsed, offline. */
export function chooseModels(env: Readonly<Record<string, string | undefined>>): AgentModels {
  for (const { key, model, create } of vendors) {
    const apiKey = env[key];
    if (!apiKey) continue;
    const provider = create(apiKey);
    return {
      description: `Agents ask ${model}, every few seconds, because ${key} is set.`,
      modelFor: () => ({ provider, model: { model } }),
    };
  }
  return {
    description: `Agents give rehearsed answers, offline; one of ${keys} has them ask a model.`,
    modelFor: (rule) => ({ provider: rehearsedModel(rule), model: { model: 'rehearsed' } }),
  };
}
