/** Worker process of `dead-processes.test.ts`: waits for the end of a run with each of its hubs. */
import { patient, startEveryFeature } from './every-feature.js';

const [url = '', prefix = '', runId = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(1));
const hubs = await startEveryFeature(url, prefix, 60_000);
const ended = new AbortController().signal;
for (const { transport } of hubs) void transport.runs.ended(`workflow\u001f${patient.name}`, runId, ended);
process.send?.('ready');
