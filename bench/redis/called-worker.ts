/** Worker process of the benchmarks of called runs and cancelled handlers. Takes the URL and the prefix of its Redis. */
import { createHub } from '../../dist/index.js';
import { redisTransport } from '../../dist/transports/redis/index.js';
import { calledWorkflow } from './called-runs.js';
import { registerEndless } from './cancelled-handler.js';

const [, , url = '', prefix = ''] = process.argv;
const hub = createHub({ service: 'worker', transport: redisTransport({ url, prefix }) });
hub.workflow(calledWorkflow());
registerEndless(hub);
await hub.start();
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
