import { type Agent, createPipeline, type HubWorkflow } from 'hubline/agents';
import { z } from 'zod';

const inquiry = z.object({ text: z.string(), isPress: z.boolean() });

/** Creates a pipeline that looks at an inquiry from two sides at once, and has answers to the press checked. */
export function createInquiryPipeline(
  agents: Readonly<Record<'orders' | 'manual' | 'writer' | 'lawyer', Agent>>,
  isSensitive: (answer: string) => boolean,
): HubWorkflow<z.input<typeof inquiry>> {
  const textOf = (payload: object): string => ('text' in payload ? String(payload.text) : '');
  return createPipeline({
    name: 'answer-inquiry',
    input: inquiry,
    steps: [
      {
        parallel: [
          {
            agent: agents.orders,
            inputMapper: textOf,
            when: (payload) => 'isPress' in payload && payload.isPress === false,
          },
          { agent: agents.manual, inputMapper: textOf, timeoutMs: 30_000 },
        ],
      },
      { agent: agents.writer },
      { agent: agents.lawyer, when: (payload) => 'output' in payload && isSensitive(String(payload.output)) },
    ],
  });
}
