import { contractCodec, describeCodedTransport } from '../contract/describe-transport.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import { startTestPostgres } from './postgres-stage.fixture.js';

const { harness } = await startTestPostgres();

describeCodedTransport('postgres', () => harness({ maxDeadLetters, codec: contractCodec }));
