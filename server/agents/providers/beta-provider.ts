import { type LoadModel, VendorProvider, type VendorProviderOptions } from './vendor-provider.js';

/** What a {@link BetaProvider} takes. */
export interface BetaProviderOptions extends VendorProviderOptions {
  /** @default 'https://api.anthropic.com/v1' */
  baseUrl?: string;
}

/**
 * Anthropic Messages.
 *
 * @example
 * const provider = new BetaProvider({ apiKey });
 */
export class BetaProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor({ apiKey, baseUrl = 'https://api.anthropic.com/v1' }: BetaProviderOptions) {
    super('anthropic', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createAnthropic } = await import('@ai-sdk/anthropic');
  return createAnthropic(settings).messages(modelId);
};
