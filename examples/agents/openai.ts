import { type AgentConfig, OpenAIProvider } from 'hubline/agents';

type Model = Pick<AgentConfig, 'provider' | 'model'>;

/** Returns a model that keeps its reasoning between the turns of a run. */
export function reasoningModel(apiKey: string, baseUrl = 'https://api.openai.com/v1'): Model {
  return {
    provider: new OpenAIProvider({ apiKey, baseUrl, api: 'responses' }),
    model: { model: 'gpt-5', reasoning: 'low' },
  };
}

/** Returns the model of a deployment. @param baseUrl address of the resource, such as `https://NAME.openai.azure.com` */
export function azureModel(apiKey: string, baseUrl: string, deployment: string): Model {
  const provider = new OpenAIProvider({ apiKey, baseUrl, api: 'responses', dialect: 'azure' });
  return { provider, model: { model: deployment } };
}
