import type { Message } from '../message.js';
import type { ModelOptions, ModelProvider, ModelResponse, ModelStreamChunk } from '../model-provider.js';
import { checkApiKey } from './api-key.js';
import { checkBaseUrl } from './base-url.js';
import { type LanguageModel, languageModelProvider } from './language-model.js';

/** What every vendor's provider takes. */
export interface VendorProviderOptions {
  /** Never shown in an error, a log or on the dashboard. */
  apiKey: string;
  /** @default the vendor's public address */
  baseUrl?: string;
}

export const vendorOptionNames: readonly string[] = ['apiKey', 'baseUrl'];

/** Makes a vendor's model of a name. */
export type LoadModel = (modelId: string, settings: { apiKey: string; baseURL: string }) => Promise<LanguageModel>;

/** What the vendors' providers have in common: the key is checked and hidden, the vendor package loaded on first use. */
export class VendorProvider implements ModelProvider {
  readonly name: string;
  // Private to the runtime as well, so that no inspection or serialisation finds the key.
  readonly #provider: Required<ModelProvider>;

  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(name: string, { apiKey, baseUrl }: Required<VendorProviderOptions>, load: LoadModel) {
    this.name = name;
    const settings = { apiKey: checkApiKey(apiKey, new.target.name), baseURL: checkBaseUrl(baseUrl, new.target.name) };
    this.#provider = languageModelProvider(name, (modelId) => load(modelId, settings), apiKey);
  }

  /** Rejects with {@link ProviderError}, and with the signal's reason when the call is aborted. */
  chat(messages: Message[], options: ModelOptions): Promise<ModelResponse> {
    return this.#provider.chat(messages, options);
  }

  /** Throws as `chat` rejects. */
  chatStream(messages: Message[], options: ModelOptions): AsyncIterable<ModelStreamChunk> {
    return this.#provider.chatStream(messages, options);
  }
}
