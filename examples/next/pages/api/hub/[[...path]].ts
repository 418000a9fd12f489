import { createDashboardHandler } from 'hubline';
import { getHub } from '../../../hub';

export default createDashboardHandler(getHub(), {
  basePath: '/api/hub',
  allowedHosts: ['127.0.0.1', 'localhost'],
});

// The handler sends the response itself and reads no body.
export const config = { api: { bodyParser: false, externalResolver: true } };
