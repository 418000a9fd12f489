import { everyTransport } from '../../testing/every-transport.fixture.js';
import { describeErrorGroups } from './error-groups.fixture.js';

for (const [name, createTransport] of everyTransport) describeErrorGroups(name, createTransport);
