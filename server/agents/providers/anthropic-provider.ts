import { OptionChecker } from '../../options.js';
import { type VendorProviderOptions, vendorOptionNames } from './vendor-options.js';
import { type LoadModel, VendorProvider } from './vendor-provider.js';

/** Options of an {@link AnthropicProvider}. */
export interface AnthropicProviderOptions extends VendorProviderOptions {
  /** Base URL of the API. @default 'https://api.anthropic.com/v1' */
  baseUrl?: string;
}

/**
 * Provider for Anthropic Messages.
 *
 * @example
 * const provider = new AnthropicProvider({ apiKey });
 */
export class AnthropicProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: AnthropicProviderOptions) {
    new OptionChecker(options, vendorOptionNames, 'AnthropicProvider');
    const { apiKey, baseUrl = 'https://api.anthropic.com/v1' } = options;
    super('anthropic', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return createAnthropic(settings).messages(modelId);
};
