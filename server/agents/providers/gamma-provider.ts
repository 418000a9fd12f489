import { type LoadModel, VendorProvider, type VendorProviderOptions } from './vendor-provider.js';

/** What a {@link GammaProvider} takes. */
export interface GammaProviderOptions extends VendorProviderOptions {
  /** @default 'https://generativelanguage.googleapis.com/v1beta' */
  baseUrl?: string;
}

/**
 * Gemini generateContent.
 *
 * @example
 * const provider = new GammaProvider({ apiKey });
 */
export class GammaProvider extends VendorProvider {
  /** @throws {InvalidApiKeyError | InvalidOptionError} */
  constructor({ apiKey, baseUrl = 'https://generativelanguage.googleapis.com/v1beta' }: GammaProviderOptions) {
    super('gcp.gemini', { apiKey, baseUrl }, load);
  }
}

const load: LoadModel = async (modelId, settings) => {
  const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
  return createGoogleGenerativeAI(settings).chat(modelId);
};
