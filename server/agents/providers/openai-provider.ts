import { InvalidOptionError } from '../../errors.js';
import { checkOptionNames } from '../../option-names.js';
import { type LoadModel, VendorProvider, type VendorProviderOptions, vendorOptionNames } from './vendor-provider.js';

/** What an {@link OpenAIProvider} takes. */
export interface OpenAIProviderOptions extends VendorProviderOptions {
  /** Never shown in an error, a log or on the dashboard. For a server that wants none, any word will do. */
  apiKey: string;
  /** @default 'https://api.openai.com/v1' */
  baseUrl?: string;
  /**
   * `openai`: the vendor's own models, with all they need, such as `max_completion_tokens`.
   * `compatible`: any other server that speaks the format (Ollama, vLLM, Mistral, Groq ...), whose
   * answers are taken less strictly. Say `openai` for a proxy of the vendor.
   * @default by the host of `baseUrl`
   */
  dialect?: 'openai' | 'compatible';
}

const defaultBaseUrl = 'https://api.openai.com/v1';

/**
 * OpenAI Chat Completions, and every server that speaks it.
 *
 * @example
 * const vendor = new OpenAIProvider({ apiKey });
 * const local = new OpenAIProvider({ apiKey: 'none', baseUrl: 'http://localhost:11434/v1' });
 */
export class OpenAIProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: OpenAIProviderOptions) {
    checkOptionNames(options, [...vendorOptionNames, 'dialect'], 'OpenAIProvider');
    const { apiKey, baseUrl = defaultBaseUrl, dialect } = options;
    if (dialect !== undefined && dialect !== 'openai' && dialect !== 'compatible') {
      throw new InvalidOptionError('dialect of OpenAIProvider', '"openai" or "compatible"', dialect);
    }
    const speaks = dialect ?? (isVendor(baseUrl) ? 'openai' : 'compatible');
    super('openai', { apiKey, baseUrl }, speaks === 'openai' ? loadOpenAI : loadCompatible);
  }
}

function isVendor(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && new URL(baseUrl).host === new URL(defaultBaseUrl).host;
}

const loadOpenAI: LoadModel = async (modelId, settings) => {
  const { createOpenAI } = await import('@ai-sdk/openai');
  return createOpenAI(settings).chat(modelId);
};

const loadCompatible: LoadModel = async (modelId, settings) => {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  return createOpenAICompatible({ ...settings, name: 'openai-compatible', includeUsage: true }).chatModel(modelId);
};
