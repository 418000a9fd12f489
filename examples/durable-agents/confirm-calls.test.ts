import { createTool } from 'hubline/agents';
import { scriptedProvider } from 'hubline/testing';
import { expect, test } from 'vitest';
import { runWithConfirmation } from './confirm-calls.js';

test('a call is executed only if it is confirmed', async () => {
  const removed: string[] = [];
  const remove = createTool({
    name: 'remove',
    description: 'Removes a file',
    parameters: { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] },
    needsApproval: true,
    execute: async ({ file }: { file: string }) => void removed.push(file),
  });
  const call = (file: string) => ({ name: 'remove', arguments: { file } });
  const provider = scriptedProvider([{ toolCalls: [call('a'), call('b')] }, 'I removed one.']);
  const asked: string[] = [];
  const output = await runWithConfirmation(provider, [remove], 'Tidy up', async (text) => {
    asked.push(text);
    return text.includes('"a"');
  });
  expect(output).toBe('I removed one.');
  expect(asked).toEqual(['remove {"file":"a"}?', 'remove {"file":"b"}?']);
  expect(removed).toEqual(['a']);
});
