import { readFile } from 'node:fs/promises';
import { createAgent, createTool, MediaResult, type ModelAgent, type ModelProvider } from 'hubline/agents';

/** Creates an agent that checks expenses: it sees receipts, and looks at earlier ones with a tool. */
export function createAuditor(provider: ModelProvider, folder: string): ModelAgent {
  const receipt = createTool({
    name: 'receipt',
    description: 'The scan of a receipt',
    parameters: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    execute: async ({ number }: { number: number }) =>
      new MediaResult([
        { type: 'text', text: `Receipt ${number}` },
        { type: 'image', data: await readFile(`${folder}/${number}.png`), mediaType: 'image/png' },
      ]),
  });
  return createAgent({
    name: 'auditor',
    systemPrompt: 'You check expenses. Answer in one sentence.',
    provider,
    model: { model: 'claude-sonnet-4-5' },
    tools: [receipt],
  });
}

/** Asks about a receipt that a browser has uploaded, and about the terms at an address. */
export async function checkReceipt(auditor: ModelAgent, upload: File): Promise<string> {
  const { output } = await auditor.run([
    { type: 'text', text: 'Is this receipt within our terms, and is it another one than receipt 7?' },
    { type: 'image', blob: upload },
    { type: 'file', url: 'https://example.com/terms.pdf', mediaType: 'application/pdf' },
  ]);
  return output;
}
