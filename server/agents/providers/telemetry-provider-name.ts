// AI SDK names that differ from the semantic conventions. A longer name comes before its prefix.
const conventionNames = new Map([
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]);

/** Returns the name of an AI SDK provider in traces and metrics: `openai` for `openai.chat`. */
export function telemetryProviderName(provider: string): string {
  for (const [prefix, name] of conventionNames) {
    if (provider === prefix || provider.startsWith(`${prefix}.`)) return name;
  }
  return provider.split('.', 1)[0] ?? provider;
}
