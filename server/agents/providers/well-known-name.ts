// Where the AI SDK's name of a vendor is not the one of the semantic conventions; a longer one stands before a shorter.
const wellKnown = new Map([
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]);

/** The name of an AI SDK provider as traces and metrics have it: `openai.chat` is `openai`. */
export function wellKnownName(provider: string): string {
  for (const [prefix, name] of wellKnown) if (provider === prefix || provider.startsWith(`${prefix}.`)) return name;
  return provider.split('.', 1)[0] ?? provider;
}
