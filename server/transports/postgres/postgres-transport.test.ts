import { describeTransport } from '../contract/describe-transport.js';
import { describeDeadLetterAge } from '../contract/records/dead-letter-age.js';
import { maxDeadLetters } from '../contract/records/dead-letters.js';
import { startTestPostgres } from './postgres-stage.fixture.js';

const { harness } = await startTestPostgres();

describeTransport('postgres', () => harness({ maxDeadLetters }));
describeDeadLetterAge('postgres', (maxDeadLetterAgeMs) => harness({ maxDeadLetterAgeMs }));
