/** Worker process of the benchmark of called runs. Takes the URL and the prefix of its Redis. */
import { createHub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { calledWorkflow } from './called-runs.js';

const [, , url = '', prefix = ''] = process.argv;
const hub = createHub({ service: 'worker', transport: redisTransport({ url, prefix }) });
hub.workflow(calledWorkflow());
await hub.start();
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
