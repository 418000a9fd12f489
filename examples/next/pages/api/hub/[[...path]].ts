import { createDashboardHandler } from 'hubline';
import { getHub } from '../../../hub';

export default createDashboardHandler(getHub(), { basePath: '/api/hub' });

// The handler sends the response itself and reads no body.
export const config = { api: { bodyParser: false, externalResolver: true } };
