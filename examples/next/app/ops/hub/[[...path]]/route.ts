import { createDashboardFetch } from 'hubline';
import { getHub } from '../../../../hub';

// Next must not answer with a response that it made at the build.
export const dynamic = 'force-dynamic';

export const GET = createDashboardFetch(getHub(), {
  basePath: '/ops/hub',
  allowedHosts: ['127.0.0.1', 'localhost'],
});
