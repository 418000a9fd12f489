import { counters } from '../counting/counters.js';
import { prelude } from '../scripts/prelude.js';
import { Script } from '../scripts/script.js';
import { runTrees } from './run-trees.js';

export const endRunScript: Script = new Script({
  name: 'endRun',
  access: 'works',
  purpose: 'Ends a run, leased or not, and the child runs that it waits for.',
  argv: 'service type, job id, reason as JSON, outcome',
  reply: 'a commit result; fenced if the run is unknown',
  includes: [prelude, counters, runTrees],
  lua: `
local serviceType, id, reason = take(), take(), take()
local result = endTree(serviceType, id, takeOutcome(), reason)
arrangeTypes()
writeChanges()
return result
`,
});
