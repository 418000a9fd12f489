import { checkOptionNames } from '../../option-names.js';
import { type LoadModel, VendorProvider, type VendorProviderOptions, vendorOptionNames } from './vendor-provider.js';

/** What a {@link AnthropicProvider} takes. */
export interface AnthropicProviderOptions extends VendorProviderOptions {
  /** @default 'https://api.anthropic.com/v1' */
  baseUrl?: string;
}

/**
 * Anthropic Messages.
 *
 * @example
 * const provider = new AnthropicProvider({ apiKey });
 */
export class AnthropicProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor(options: AnthropicProviderOptions) {
    checkOptionNames(options, vendorOptionNames, 'AnthropicProvider');
    const { apiKey, baseUrl = 'https://api.anthropic.com/v1' } = options;
    super('anthropic', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return createAnthropic(settings).messages(modelId);
};
