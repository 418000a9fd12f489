import type { Hub } from 'hubline';
import { type Agent, type AgentHandlerResult, createAgent, createPipeline } from 'hubline/agents';
import type { AgentModels } from './models/models.js';
import type { Rule } from './models/rehearsed-model.js';
import { simulateWork } from './simulate.js';

/** Registers complaints, which a pipeline of three agents answers: triage, draft and review. */
export function registerComplaints(hub: Hub, { modelFor }: AgentModels): void {
  const agent = (name: string, systemPrompt: string, rule: Rule): Agent =>
    createAgent({ name, systemPrompt, ...modelFor(rule), tokenBudget: 10_000 });
  hub.event({ type: 'complaint.received', description: 'A customer complains. Three agents write the answer.' });
  hub.workflow(
    createPipeline({
      name: 'answer-complaint',
      description: 'Sorts a complaint, drafts the answer, and reviews it.',
      trigger: 'complaint.received',
      onSuccess: 'complaint.answered',
      steps: [
        {
          agent: agent('triage', 'Say in one sentence what the complaint is about.', triage),
          retry: { maxAttempts: 2 },
        },
        { agent: agent('draft', 'Write a polite answer, three sentences at most.', draft), retry: { maxAttempts: 2 } },
        { agent: agent('review', 'Correct the answer. Return nothing but the answer.', review), timeoutMs: 30_000 },
      ],
    }),
  );
  hub.event<AgentHandlerResult>({
    type: 'complaint.answered',
    description: 'Sends the reviewed answer.',
    handler: ({ signal }) => simulateWork(signal, 20, 150),
  });
}

const triage: Rule = ({ input }) => `The customer complains about ${/late|wait/i.test(input) ? 'a delay' : 'damage'}.`;

const draft: Rule = ({ input }) =>
  input.includes('delay') ? 'Sorry for the wait, your parcel has left.' : 'Sorry, we send you a new one.';

const review: Rule = ({ input }) => `Dear customer, ${input.charAt(0).toLowerCase()}${input.slice(1)} Your tea shop`;
